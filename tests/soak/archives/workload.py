"""What an application does with an archive that is killed under it: operations that a seed draws, each entered in the ledger."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

from aerowire.archive import AeronArchive, RecordingDescriptor, RecordingSignal, RecordingSignalEvent, ReplayParams, ReplicationParams
from aerowire.archive.client.parameters import NULL_POSITION, REPLAY_ALL_AND_STOP
from aerowire.archive.client.recording_pos import find_counter_id_by_recording, is_recording_active
from aerowire.client import Aeron, ExclusivePublication, Header, Pending, build_channel, initial_position
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT
from tests.soak.archives.ledger import HEADER_LENGTH, LENGTH_MIN, Doubt, Kept, LostError, content
from tests.support.waiting import rest, wait_until

TERM = 64 << 10
SEGMENT = 64 << 10
MTU = 1408
MESSAGE_MAX = MTU - HEADER_LENGTH
LIVE_MAX = 3
KEPT_MAX = 10
BATCH_MAX = 300
REPLAY_STREAM_ID = 5
T = TypeVar("T")


class KilledError(Exception):
    """The archive has died under an operation."""


class Ledger:
    """All recordings of an archive by id, and that which a request may have added when the archive died."""

    def __init__(self) -> None:
        self.kept: dict[int, Kept] = {}
        self.added: Kept | None = None
        self.keys = 1000

    def next_key(self) -> int:
        self.keys += 1
        return self.keys


class Workload:
    """One client of one life of an archive. Each operation raises KilledError when `is_dead()` says so.

    `source` is the control channel by which the archive copies from itself. `options` are those of the client.
    """

    def __init__(self, rng: random.Random, ledger: Ledger, source: str, is_dead: Callable[[], bool], **options: Any) -> None:
        self.rng = rng
        self.ledger = ledger
        self.source = source
        self.is_dead = is_dead
        self.deleted: set[int] = set()  # recordings whose last files to be deleted are gone
        connecting = AeronArchive.async_connect(recording_signal_consumer=self._on_signal, **options)
        wait_until(connecting.poll, "a connection", work=self._rest_while_alive)
        self.archive = connecting.result()
        self.aeron: Aeron = self.archive.aeron
        self.live: dict[int, ExclusivePublication] = {}
        self._steps_left = 0
        self._strike: Callable[[], object] | None = None
        self.done: dict[str, int] = {}

    def at_step(self, count: int, strike: Callable[[], object]) -> None:
        """Call `strike()` right before the step behind `count` others: something is published, recorded, or asked of the archive."""
        self._steps_left, self._strike = count, strike

    def run_one(self) -> None:
        """Do one operation that can be done now."""
        operation = self.rng.choice(
            (
                self.record,
                self.record,
                self.extend,
                self.extend,
                self.publish_more,
                self.stop,
                self.truncate,
                self.truncate,
                self.purge_segments,
                self.purge_recording,
                self.replicate,
                self.migrate,
                self.migrate,
                self.replay,
            )
        )
        if operation():
            self.done[operation.__name__] = self.done.get(operation.__name__, 0) + 1

    # ---- operations; each returns whether there was something to do

    def record(self) -> bool:
        """Begin a recording."""
        if len(self.live) >= LIVE_MAX or len(self.ledger.kept) >= KEPT_MAX:
            return False
        key = self.ledger.next_key()
        recording_id = self._record(Kept(key), f"aeron:ipc?term-length={TERM}|mtu={MTU}|alias=k{key}", key)
        self._publish(recording_id)
        return True

    def extend(self) -> bool:
        """Go on with a recording."""
        if len(self.live) >= LIVE_MAX or (recording_id := self._stopped()) is None:
            return False
        kept, descriptor = self.ledger.kept[recording_id], self._descriptor(recording_id)
        publication = self._add_publication(descriptor, kept.end)
        self._step()
        session = f"aeron:ipc?session-id={publication.session_id}"
        self.complete(self.archive.async_extend_recording(recording_id, session, publication.stream_id, auto_stop=True))
        self._until(lambda: self._position_counter(recording_id) >= 0, f"the extension of recording {recording_id}")
        self.live[recording_id] = publication
        self._publish(recording_id)
        return True

    def publish_more(self) -> bool:
        """Publish more of a stream that is recorded."""
        if not self.live:
            return False
        self._publish(self.rng.choice(sorted(self.live)))
        return True

    def stop(self) -> bool:
        """End a recording by the end of its publication, or by a request."""
        if not self.live:
            return False
        self._stop(self.rng.choice(sorted(self.live)))
        return True

    def truncate(self) -> bool:
        """Cut a recording off at one of its frames."""
        if (recording_id := self._stopped()) is None or not (frames := self.ledger.kept[recording_id].frames):
            return False
        self._truncate(recording_id, self.rng.choice(frames))
        return True

    def purge_segments(self) -> bool:
        """Delete the first segments of a recording."""
        if (recording_id := self._stopped()) is None:
            return False
        kept = self.ledger.kept[recording_id]
        bases = range(kept.start - kept.start % SEGMENT + SEGMENT, kept.end + 1, SEGMENT)
        if not bases:
            return False
        position = self.rng.choice(bases)
        self._deleting(recording_id, Doubt("purge segments", position), lambda: self.archive.async_purge_segments(recording_id, position))
        kept.begin_at(position)
        self._until_deleted(recording_id)
        return True

    def purge_recording(self) -> bool:
        """Delete a recording."""
        if len(self.ledger.kept) < KEPT_MAX // 2 or (recording_id := self._stopped()) is None:
            return False
        self._deleting(recording_id, Doubt("purge recording"), lambda: self.archive.async_purge_recording(recording_id))
        del self.ledger.kept[recording_id]
        self._until_deleted(recording_id)
        return True

    def replicate(self) -> bool:
        """Copy a recording within the archive."""
        if len(self.ledger.kept) >= KEPT_MAX or (source_id := self._stopped()) is None:
            return False
        source = self.ledger.kept[source_id]
        if source.start == source.end:
            return False
        self._step()
        copy = self.ledger.added = source.copied()
        copy.end = source.end
        copy_id = self.complete(self.archive.async_copy_recording(source_id, 10, self.source, ReplicationParams()))
        self.ledger.added = None
        copy.acknowledged, copy.frames = copy.end, list(source.frames)
        self.ledger.kept[copy_id] = copy
        return True

    def migrate(self) -> bool:
        """Cut a recording off at the end of a segment, record what follows as another one, and move that one's segments to the first."""
        if len(self.live) >= LIVE_MAX or len(self.ledger.kept) >= KEPT_MAX or (first_id := self._stopped()) is None:
            return False
        first = self.ledger.kept[first_id]
        seams = range(first.start - first.start % SEGMENT + SEGMENT, first.end, SEGMENT)
        if not seams:
            return False
        seam = self.rng.choice(seams)
        self._truncate(first_id, seam)
        descriptor = self._descriptor(first_id)
        second = Kept(first.key, seam, seam, seam, list(first.spans))
        second_id = self._record(second, self._channel_at(descriptor, seam), descriptor.stream_id)
        self._publish(second_id, at_least=SEGMENT)
        self._stop(second_id)
        source_id, target_id = (first_id, second_id) if self.rng.random() < 0.5 else (second_id, first_id)
        source, target = self.ledger.kept[source_id], self.ledger.kept[target_id]
        source.doubt, target.doubt = Doubt("migrate from", seam, target_id), Doubt("migrate to", seam, source_id)
        self._step()
        self.deleted.discard(source_id)
        self.complete(self.archive.async_migrate_segments(source_id, target_id))
        source.doubt = target.doubt = None
        merge(source, target)
        self._until_deleted(source_id)
        return True

    def replay(self) -> bool:
        """Replay a recording, and see that it is right."""
        recording_id = self._stopped()
        if recording_id is None or self.ledger.kept[recording_id].start == self.ledger.kept[recording_id].end:
            return False
        self.replay_all(recording_id)
        return True

    def replay_all(self, recording_id: int) -> None:
        """Replay a recording from start to end. Raises LostError where it is not right."""
        kept = self.ledger.kept[recording_id]
        wrong: list[str] = []

        def on_message(buffer: memoryview, offset: int, length: int, header: Header) -> None:
            position = header.position - align(HEADER_LENGTH + length, FRAME_ALIGNMENT)
            if bytes(buffer[offset : offset + length]) != content(kept.key, kept.epoch_at(position), position, length):
                wrong.append(f"recording {recording_id}: the replay of position {position} is not right")

        self._step()
        params = ReplayParams(length=REPLAY_ALL_AND_STOP)
        subscription = self.complete(self.archive.async_replay(recording_id, f"aeron:ipc?term-length={TERM}", REPLAY_STREAM_ID, params))
        with subscription:
            self._until(lambda: len(subscription.images) == 1, "the image of a replay")
            (image,) = subscription.images
            self._until(lambda: image.poll(on_message, 100) == 0 and image.is_end_of_stream, "the end of a replay", is_busy=True)
            error = self.archive.poll_for_error_response()
            if wrong or error is not None or image.position != kept.end:
                raise LostError(f"recording {recording_id}: replayed up to {image.position}, {error}, {wrong[:3]}: {kept}")

    # ---- below: their pieces

    def _step(self) -> None:
        self._steps_left -= 1
        if self._steps_left < 0 and self._strike is not None:
            strike, self._strike = self._strike, None
            strike()

    def complete(self, pending: Pending[T]) -> T:
        """Return the result of an operation."""
        self._until(pending.poll, pending.what)
        return pending.result()

    def _on_signal(self, event: RecordingSignalEvent) -> None:
        if event.signal is RecordingSignal.DELETE:
            self.deleted.add(event.recording_id)

    def _until(self, condition: Callable[[], Any], what: str, *, is_busy: bool = False) -> None:
        def work() -> None:
            if is_busy or self.archive.poll():
                self._expect_alive()
            else:
                self._rest_while_alive()

        wait_until(condition, what, work=work)

    def _rest_while_alive(self) -> None:
        self._expect_alive()
        rest()

    def _expect_alive(self) -> None:
        if self.is_dead():
            raise KilledError

    def _deleting(self, recording_id: int, doubt: Doubt, start: Callable[[], Pending[Any]]) -> None:
        """Complete an operation that takes something away."""
        self._step()
        kept = self.ledger.kept[recording_id]
        kept.doubt = doubt
        self.deleted.discard(recording_id)
        self.complete(start())
        kept.doubt = None

    def _until_deleted(self, recording_id: int) -> None:
        """Wait until the files of the last operation on a recording are gone: until then the archive takes no other one."""
        self._until(lambda: recording_id in self.deleted, f"the deletion of files of recording {recording_id}")

    def _record(self, kept: Kept, channel: str, stream_id: int) -> int:
        """Record a new publication, which publishes nothing before the id of the recording is known; return that."""
        self._step()
        self.ledger.added = kept
        publication = self.complete(self.archive.async_add_recorded_exclusive_publication(channel, stream_id))
        found: list[int] = []

        def is_there() -> bool:
            last = self.archive.async_find_last_matching_recording(0, "ipc", stream_id, publication.session_id)
            found[:] = [self.complete(last)]
            return found[0] >= 0

        self._until(is_there, "a recording")
        self.ledger.kept[found[0]] = kept
        self.ledger.added = None
        self.live[found[0]] = publication
        return found[0]

    def _publish(self, recording_id: int, *, at_least: int = 0) -> None:
        """Publish some messages and see how far they are recorded."""
        self._step()
        publication, kept, rng = self.live[recording_id], self.ledger.kept[recording_id], self.rng
        count, begun = rng.randrange(1, BATCH_MAX), publication.position
        length = rng.randrange(LENGTH_MIN, MESSAGE_MAX + 1) if rng.random() < 0.5 else 0
        while count > 0 or publication.position - begun < at_least:
            self._offer(publication, kept, length or rng.randrange(LENGTH_MIN, MESSAGE_MAX + 1))
            count -= 1
            if count % 16 == 0:
                self._acknowledge(recording_id)
        if rng.random() < 0.7:
            self._until(lambda: self._acknowledge(recording_id) >= publication.position, f"position {kept.end} of recording {recording_id}")

    def _offer(self, publication: ExclusivePublication, kept: Kept, length: int) -> None:
        def is_taken() -> bool:
            position = publication.position
            needed = align(HEADER_LENGTH + length, FRAME_ALIGNMENT)
            begin = position if position % TERM + needed <= TERM else position - position % TERM + TERM  # behind the padding
            is_done = publication.offer(content(kept.key, kept.epoch_at(begin), begin, length)) > 0
            if position not in (publication.position, begin):
                kept.frames.append(position)
            if is_done:
                kept.frames.append(begin)
            kept.end = publication.position
            return is_done

        self._until(is_taken, "room in a publication")

    def _acknowledge(self, recording_id: int) -> int:
        kept = self.ledger.kept[recording_id]
        kept.acknowledged = max(kept.acknowledged, self._position_counter(recording_id))
        return kept.acknowledged

    def _position_counter(self, recording_id: int) -> int:
        """Return the position that the archive shows, NULL_POSITION where it shows none."""
        counters = self.aeron.counters_reader
        # With its id: counters of the archives that were killed before are there until the driver misses their clients.
        counter_id = find_counter_id_by_recording(counters, recording_id, self.archive.archive_id)
        if counter_id < 0:
            return NULL_POSITION
        position = counters.value(counter_id)
        return position if is_recording_active(counters, counter_id, recording_id) else NULL_POSITION

    def _stop(self, recording_id: int) -> None:
        self._step()
        publication, kept = self.live.pop(recording_id), self.ledger.kept[recording_id]
        self._until(lambda: self._acknowledge(recording_id) >= publication.position, f"position {kept.end} of recording {recording_id}")
        if self.rng.random() < 0.5:
            self.complete(self.archive.async_try_stop_recording_by_identity(recording_id))
        publication.close()
        self._until(lambda: self.complete(self.archive.async_get_stop_position(recording_id)) >= 0, "the stop of a recording")

    def _truncate(self, recording_id: int, position: int) -> None:
        self._deleting(recording_id, Doubt("truncate", position), lambda: self.archive.async_truncate_recording(recording_id, position))
        self.ledger.kept[recording_id].cut(position)
        self._until_deleted(recording_id)

    def _stopped(self) -> int | None:
        found = sorted(set(self.ledger.kept) - set(self.live))
        return self.rng.choice(found) if found else None

    def _descriptor(self, recording_id: int) -> RecordingDescriptor:
        (descriptor,) = self.complete(self.archive.async_list_recording(recording_id))
        return descriptor

    def _add_publication(self, descriptor: RecordingDescriptor, position: int) -> ExclusivePublication:
        channel = self._channel_at(descriptor, position)
        return self.complete(self.aeron.async_add_exclusive_publication(channel, descriptor.stream_id))

    def _channel_at(self, descriptor: RecordingDescriptor, position: int) -> str:
        start: dict[str, Any] = initial_position(position, descriptor.initial_term_id, descriptor.term_buffer_length)
        return build_channel("ipc", mtu=descriptor.mtu_length, alias=f"s{descriptor.stream_id}", **start)


def merge(source: Kept, target: Kept) -> None:
    """Let a recording have the segments of another that it joins."""
    first, second = (source, target) if source.start < target.start else (target, source)
    start, end, frames, spans = first.start, second.end, first.frames + second.frames, second.spans
    source.cut(source.start)
    target.start, target.acknowledged, target.end, target.frames, target.spans = start, end, end, frames, list(spans)
