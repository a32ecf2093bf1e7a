"""The operation of a life on another archive: copies of a recording that goes on, from a source that fails, into what was copied before."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from aerowire.archive.client.parameters import NULL_VALUE, ReplicationParams
from aerowire.codecs.flyweights.archive import RecordingSignal
from aerowire.simulation.partitions import Partition
from aerowire.simulation.scenarios.archives.acting import Acting
from aerowire.simulation.scenarios.archives.client import ArchiveClient
from aerowire.simulation.scenarios.archives.plan import Act
from aerowire.simulation.scenarios.archives.recorded import Recorded
from aerowire.simulation.scenarios.archives.source import COPIED_STREAM
from aerowire.simulation.scenarios.plan import MS, SECOND

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.archives.living_source import LivingSource
    from aerowire.simulation.scenarios.archives.recorded import Memory
    from aerowire.simulation.scenarios.draws import Draws

PREFIX = "a copy is the beginning of its source"


class Interruption(Enum):
    """What comes between a copy and its end."""

    NOTHING = "nothing"
    SOURCE = "its source fails"
    NETWORK = "the network falls apart"
    STOP = "it is stopped"


class CopyOperations(Acting):
    """One life's copies, by `acts`."""

    def __init__(self, client: ArchiveClient, memory: Memory, source: LivingSource, *, is_faultless: bool) -> None:
        super().__init__(client, memory, is_faultless=is_faultless)
        self._source = source
        self.acts = {Act.COPY: self._copy}

    def _copy(self, draws: Draws) -> None:
        """Copy the recording of the source into a new one, or into what an earlier copy has come to, while the source may record."""
        source, client = self._source, self.client
        is_live = draws.happens(0.5)
        source.begin(draws)
        if not is_live:
            source.end()
        copies = [one for one in client.recordings() if one.stream_id == COPIED_STREAM and one.recording_id in self.memory.recordings]
        target = draws.one_of([NULL_VALUE, *(one.recording_id for one in copies)])
        interruption = draws.one_of(list(Interruption))
        client.signals.clear()
        try:
            params = ReplicationParams(dst_recording_id=target)
            asked = self.archive.async_replicate(source.recording_id, source.control_stream_id, source.control_channel, params)
            replication_id = client.complete(asked)
            client.pause(1 + draws.whole(0, 20 * MS))
            self._interrupt(draws, interruption, replication_id)
            source.publish(draws)
            source.end()
            client.await_that(lambda: self._copied(RecordingSignal.REPLICATE_END) is not None, "the end of a replication", 60 * SECOND)
        finally:
            client.world.network.heal()
            target = self._made(target)
            if interruption is Interruption.SOURCE:
                source.mend()
        if target in self.memory.recordings:
            self._check(target, is_whole=interruption is Interruption.NOTHING, is_live=is_live)

    def _interrupt(self, draws: Draws, interruption: Interruption, replication_id: int) -> None:
        client, source = self.client, self._source
        client.world.events.note(client.host.address, interruption.value)
        if interruption is Interruption.SOURCE:
            source.fail(draws)
        elif interruption is Interruption.STOP:
            client.complete(self.archive.async_try_stop_replication(replication_id))
        elif interruption is Interruption.NETWORK:
            client.world.network.partition(Partition((client.host.address,), (source.address,)))
            client.pause(draws.whole(1, 15 * SECOND))
            client.world.network.heal()

    def _made(self, target: int) -> int:
        """Note what a copy may have by now; return its recording, -1 if there is none that is known."""
        if target == NULL_VALUE:
            made = self._copied(RecordingSignal.REPLICATE)
            target = NULL_VALUE if made is None else made
        if target != NULL_VALUE:
            recorded, source = self.memory.recordings.setdefault(target, Recorded(COPIED_STREAM)), self._source.recorded
            recorded.messages, recorded.positions = source.messages[:], source.positions[:]
            recorded.detached = []
            if recorded.acknowledged == recorded.start:  # the copy takes the place of an empty recording, and begins where its source does
                recorded.is_doubtful |= self._copied(RecordingSignal.REPLICATE) is None
                recorded.start = recorded.acknowledged = source.start
            recorded.begin_at(recorded.start)
        return target

    def _check(self, recording_id: int, *, is_whole: bool, is_live: bool) -> None:
        """See that a copy has stopped where its source has, or before, and what is in it."""
        recorded, end = self.memory.recordings[recording_id], self._source.recorded.acknowledged
        client = self.client
        listed = client.recording(recording_id)
        for _ in range(100):
            if listed.stop_position >= 0:
                break
            client.pause(100 * MS)
            listed = client.recording(recording_id)
        stop = listed.stop_position
        if not recorded.acknowledged <= stop <= end:
            raise self.wrong(PREFIX, f"recording {recording_id} up to {recorded.acknowledged} to {end}", stop)
        recorded.cut(stop)
        recorded.acknowledged = stop
        # SYNC tells of a source that had ended before the copy began, as in the official archive.
        if is_whole and self.is_faultless and (stop != end or (self._copied(RecordingSignal.SYNC) is None and not is_live)):
            raise self.wrong("signals arrive", f"SYNC at {end}", f"{[one.signal.name for one in client.signals]}, {stop}")
        if self.is_faultless:
            self.check_messages(recording_id, client.replayed(recording_id), recorded.messages)

    def _copied(self, signal: RecordingSignal) -> int | None:
        """Return the recording that a signal has come of, None if it has not come."""
        return next((one.recording_id for one in self.client.signals if one.signal is signal), None)
