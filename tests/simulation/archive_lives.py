"""The lives of an archive in a world that fails: what it has acknowledged has to be there in the next life, and be replayed unchanged.

Each life starts driver, archive and client on a host, looks at all that has to be there, then records, extends, truncates and purges, and
ends in order, by a kill, or with the power. Faults of the disk come while it works, and not while it is looked at.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aerowire.base.errors import AerowireError, ArchiveError
from aerowire.simulation.disk_faults import DiskFaults
from aerowire.simulation.world import SimulatedWorld
from tests.support.simulated_archive_client import IPC, MS, SECOND, ArchiveClient, is_taken

LIVES = 5
OPERATIONS_MAX = 12
MESSAGES_MAX = 120
LENGTH_MAX = 3_000
STREAMS = range(2001, 2004)
DRIVER: dict[str, Any] = {
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "client_liveness_timeout_ns": "1s",
    "image_liveness_timeout_ns": "1s",
    "publication_linger_timeout_ns": "100ms",
    "timer_interval_ns": "100ms",
}


class LostError(AssertionError):
    """The archive lost, changed or invented something."""


@dataclass
class Kept:
    """A recording as it has to be: its messages, how many of them are acknowledged, and a truncation or purge that may have happened."""

    stream_id: int
    messages: list[bytes] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)  # after each message
    acknowledged: int = 0  # position
    is_doubtful: bool = False  # an operation was under way that cuts it or takes it away


class Lives:
    """One world, one host, its archive of a sync level and checksum that the seed draws."""

    def __init__(self, world: SimulatedWorld, seed: int) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.world = world
        self.host = world.add_empty_host("10.0.0.1")
        self.sync_level = self.rng.choice((0, 1, 2))
        checksum = self.rng.choice(("", "org.agrona.checksum.Crc32", "org.agrona.checksum.Crc32c"))
        self.has_checksum = bool(checksum)
        self.options: dict[str, Any] = {
            "segment_file_length": "64k",
            "low_storage_space_threshold": 0,
            "file_sync_level": self.sync_level,
            "file_io_max_length": "64k",
            "record_checksum": checksum,
            "replay_checksum": checksum,
        }
        self.kept: dict[int, Kept] = {}
        self.lost: set[int] = set()  # recordings whose files were not synced
        self.lost_power = False
        self.done = 0

    def run(self) -> str:
        """Live all lives, and look at what the last one has left; return what was done."""
        for _ in range(LIVES):
            client = self._start()
            self._look(client)
            self.lost_power = False
            self.host.disk.faults = self._faults()
            with suppress(AerowireError):  # a disk that fails may end a recording, a request, or the archive
                self._live(client)
            self._end()
        self._look(self._start())
        return f"{self.done} operations, {len(self.kept)} recordings"

    # -- A life --------------------------------------------------------------------------------------------------------

    def _start(self) -> ArchiveClient:
        if not self.host.has_power:
            self.host.restart()
        if not self.host.has_driver:
            self.host.start_driver(**DRIVER)
        archive = self.archive = self.host.start_archive(**self.options)
        if not self.world.run(20 * SECOND, until=lambda: archive.is_serving or archive.has_ended) or archive.failure is not None:
            raise LostError(f"seed {self.seed}: the archive does not start: {archive.failure}")
        return ArchiveClient(self.world, self.host)

    def _faults(self) -> DiskFaults:
        rng = self.rng
        if rng.random() < 0.5:
            return DiskFaults(writeback=0.3 * rng.random(), sector=rng.choice((512, 4096)))
        return DiskFaults(
            write_error=rng.choice((0.0, 0.02 * rng.random())),
            sync_error=rng.choice((0.0, 0.05 * rng.random())),
            short_write=rng.choice((0.0, 0.3)),
            writeback=0.3 * rng.random(),
            sector=rng.choice((512, 4096)),
            latency_ns=rng.choice((0, 100_000)),
        )

    def _live(self, client: ArchiveClient) -> None:
        for _ in range(self.rng.randrange(1, OPERATIONS_MAX)):
            self.rng.choice((self._record, self._record, self._record, self._truncate, self._purge))(client)
            self.done += 1

    def _end(self) -> None:
        self.world.run(self.rng.randrange(20 * MS))
        how = self.rng.random()
        if how < 0.4:
            self.lost_power = True
            self.host.lose_power()
        elif how < 0.8:
            self.archive.kill()
        else:
            self.archive.close()
            self.world.run(20 * SECOND, until=lambda: self.archive.has_ended)
            self.archive.kill()
        self.host.disk.faults = DiskFaults()
        for client in self.host.clients if self.host.has_power else ():
            client.kill()
        self.world.run(3 * SECOND)

    # -- Operations ----------------------------------------------------------------------------------------------------

    def _record(self, client: ArchiveClient) -> None:
        """Begin or continue a recording, publish, and ask how much of it is recorded."""
        stream_id = self.rng.choice(STREAMS)
        added = client.complete(client.archive.async_add_continued_publication(IPC, stream_id))
        publication, recording_id = added.publication, added.recording_id
        if added.position == 0:
            self.lost.discard(recording_id)  # a catalog that lost its end gives out ids again
        kept = Kept(stream_id) if recording_id in self.lost else self.kept.setdefault(recording_id, Kept(stream_id))
        self._cut(kept, added.position)
        for _ in range(self.rng.randrange(MESSAGES_MAX)):
            message = self.rng.randbytes(self.rng.randrange(1, LENGTH_MAX))
            if not self.world.run(2 * SECOND, until=partial(is_taken, publication, message)):
                break
            kept.messages.append(message)
            kept.positions.append(publication.position)
            if self.rng.random() < 0.1:
                self.world.run(self.rng.randrange(MS))
        kept.acknowledged = max(kept.acknowledged, client.client.complete(client.archive.async_get_max_recorded_position(recording_id)))
        publication.close()
        self.world.run(self.rng.randrange(300 * MS))

    def _truncate(self, client: ArchiveClient) -> None:
        """Cut a recording at the end of one of its messages."""
        if (chosen := self._stopped(client)) is None:
            return
        recording_id, kept = chosen
        count = self.rng.randrange(len(kept.messages) + 1)
        position = kept.positions[count - 1] if count else 0
        kept.is_doubtful = True
        client.complete(client.archive.async_truncate_recording(recording_id, position))
        kept.is_doubtful = False
        kept.acknowledged = 0  # the cut itself is the last thing that was acknowledged
        self._cut(kept, position)
        kept.acknowledged = position

    def _purge(self, client: ArchiveClient) -> None:
        """Take a recording away."""
        if self.rng.random() < 0.7 or (chosen := self._stopped(client)) is None:
            return
        recording_id, kept = chosen
        kept.is_doubtful = True
        client.complete(client.archive.async_purge_recording(recording_id))
        del self.kept[recording_id]

    def _stopped(self, client: ArchiveClient) -> tuple[int, Kept] | None:
        found = [one for one in client.recordings() if one.stop_position >= 0 and one.recording_id in self.kept]
        if not found:
            return None
        chosen = self.rng.choice(found)
        kept = self.kept[chosen.recording_id]
        self._cut(kept, chosen.stop_position)
        return chosen.recording_id, kept

    # -- What has to be there --------------------------------------------------------------------------------------------

    def _look(self, client: ArchiveClient) -> None:
        """Raise LostError unless all is there; take what is there as what has to be there from now on."""
        found = {one.recording_id: one for one in client.recordings() if one.recording_id not in self.lost}
        for recording_id, kept in list(self.kept.items()):
            one = found.pop(recording_id, None)
            if one is None:
                if not kept.is_doubtful and not (self.lost_power and self.sync_level == 0):
                    raise self._lost(recording_id, kept, "no recording")
                del self.kept[recording_id]
                continue
            must_be = kept.acknowledged if self.sync_level > 0 or not self.lost_power else 0
            if one.stop_position < must_be and not kept.is_doubtful:
                raise self._lost(recording_id, kept, f"stop position {one.stop_position}")
            try:
                messages = client.replayed(recording_id)
            except ArchiveError as error:
                if must_be:
                    raise self._lost(recording_id, kept, str(error)) from error
                self._give_up(recording_id)
                continue
            if messages != kept.messages[: len(messages)]:
                place = next(n for n, (a, b) in enumerate(zip(messages, [*kept.messages, b""], strict=False)) if a != b)
                if not self._may_differ(place, len(messages)):
                    raise self._lost(recording_id, kept, f"another message {place} of {len(messages)}")
                self._give_up(recording_id)
                continue
            # The position after a message may be followed by padding, which is recorded as well.
            if len(messages) < sum(1 for position in kept.positions if position <= must_be) and not kept.is_doubtful:
                raise self._lost(recording_id, kept, f"{len(messages)} messages")
            self._cut(kept, one.stop_position)
            kept.is_doubtful = False
            kept.acknowledged = one.stop_position
        for recording_id, one in found.items():
            # Of a publication whose recording was not told to its client before the archive died, or of a catalog that has lost its end.
            if self.sync_level == 0:
                self.lost.add(recording_id)
                continue
            self.kept[recording_id] = Kept(one.stream_id, acknowledged=one.stop_position)
            if client.replayed(recording_id):
                raise LostError(f"seed {self.seed}: recording {recording_id} has messages that were not published")

    def _may_differ(self, place: int, count: int) -> bool:
        """Return whether a message may be another: where nothing is synced, and in a torn last frame without a checksum."""
        return (self.sync_level == 0 and self.lost_power) or (not self.has_checksum and place == count - 1)

    def _give_up(self, recording_id: int) -> None:
        """Look no more at a recording that has lost what was not synced."""
        del self.kept[recording_id]
        self.lost.add(recording_id)

    @staticmethod
    def _cut(kept: Kept, position: int) -> None:
        """Forget the messages behind a position, which was found to be the end of the recording."""
        count = sum(1 for one in kept.positions if one <= position)
        del kept.messages[count:], kept.positions[count:]

    def _lost(self, recording_id: int, kept: Kept, found: str) -> LostError:
        settings = f"sync level {self.sync_level}, {'power lost' if self.lost_power else 'process ended'}"
        expected = f"{len(kept.messages)} messages, acknowledged up to {kept.acknowledged}"
        return LostError(f"seed {self.seed}, recording {recording_id} ({settings}): expected {expected}; found {found}")


def live(seed: int) -> str:
    """Let an archive live, fail and start again; return what it did. Raises LostError. All follows from the seed."""
    with SimulatedWorld(seed=seed) as world:
        return Lives(world, seed).run()


def live_all(seeds: range, told: Callable[[str], object] = print) -> None:
    """Let archives of several seeds live."""
    for seed in seeds:
        told(f"seed {seed}: {live(seed)}")
