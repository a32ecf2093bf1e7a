"""Replications that tests ask for: a recording to be copied, and a client that copies it and compares the copy."""

from __future__ import annotations

from collections.abc import Callable

from aerowire.archive import AeronArchive, RecordingSignalEvent, ReplicationParams
from tests.interop.archive.content import Batch, hash_of, replayed
from tests.interop.archive.nodes import ArchiveNode
from tests.interop.scenarios import Scenario
from tests.support.waiting import rest, wait_until

STREAM_ID = 5001
CONTROL_STREAM_ID = 10
FIRST, SECOND = Batch(11, 200), Batch(12, 150)
ENDS = {"SYNC", "STOP", "REPLICATE_END"}


class Replicator:
    """A client of the archive that copies, with the signals and errors of the replication that goes on."""

    def __init__(self, scenario: Scenario, source: ArchiveNode, target: ArchiveNode) -> None:
        self._scenario = scenario
        self.source = source
        self.signals: list[RecordingSignalEvent] = []
        self.archive: AeronArchive = target.connect("ipc", recording_signal_consumer=self.signals.append)

    @property
    def names(self) -> list[str]:
        """The signals so far, by name."""
        return [event.signal.name for event in self.signals]

    def start(self, src_recording_id: int, params: ReplicationParams) -> None:
        """Begin to copy."""
        self.signals.clear()
        self.archive.replicate(src_recording_id, CONTROL_STREAM_ID, self.source.control_channel, params)

    def await_signals(self, *names: str, work: Callable[[], object] = rest) -> None:
        """Wait for signals, while `work` is done."""

        def poll() -> None:
            if self.archive.poll() == 0:
                work()

        wait_until(lambda: set(names) <= set(self.names), lambda: f"{names} of {self.signals}", work=poll)

    def copy(self, feature: str, params: ReplicationParams, *content: Batch, ends: set[str] = ENDS) -> int:
        """Copy recording 0 in a scenario of its own; return the id of the copy, whose content is compared, and its signals."""
        self._scenario.next_feature(feature)
        self.start(0, params)
        self.await_signals("REPLICATE_END", *ends)
        begins = ["EXTEND"] if params.dst_recording_id >= 0 else ["REPLICATE", "EXTEND"]
        assert self.names[: len(begins)] == begins
        assert sorted(self.names[len(begins) :]) == sorted(ends)
        copy = self.signals[0].recording_id
        self.compare(copy, *content)
        self._scenario.observed(f"content hash of {len(content)} batches; signals {', '.join(sorted(self.names))}")
        return copy

    def compare(self, recording_id: int, *content: Batch) -> None:
        """Assert that a recording of the archive that copies has this content."""
        expected = hash_of(*content)
        assert replayed(self.archive, recording_id) == expected
        self._scenario.row.messages += sum(batch.messages for batch in content)


def record(archive: AeronArchive) -> int:
    """Record two batches as recording 0, and return the position between them."""
    publication = archive.add_recorded_exclusive_publication("aeron:ipc?term-length=64k", STREAM_ID)
    middle = FIRST.publish(publication)
    end = SECOND.publish(publication)
    archive.await_recorded(0, end)
    publication.close()
    wait_until(lambda: archive.get_stop_position(0) == end, "the recording's stop")
    return middle
