"""Runs of messages: what is in a batch, and where it is cut."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from aerowire.base.errors import ClosedError
from aerowire.cluster.services import ClientSession, MessageBatch
from aerowire.codecs.flyweights.cnc import ClusterRole
from tests.cluster.services.noting_service import NotingService
from tests.cluster.services.scripted_module import Rig, session_message, session_messages


@dataclass(frozen=True)
class Seen:
    """What a batch had."""

    messages: list[bytes]
    session_ids: list[int]
    timestamps: list[int]
    positions: list[int]
    place: tuple[int, int] = field(compare=False)


class Batching(NotingService):
    """Notes batches among the other events."""

    def on_batch(self, batch: MessageBatch) -> None:
        data = bytes(batch.data)
        messages = [data[offset : offset + length] for offset, length in zip(batch.offsets, batch.lengths, strict=True)]
        assert messages == list(batch) == [batch[index] for index in range(-len(batch), 0)]
        place = self.cluster.log_position, self.cluster.time
        self.events.append(
            (
                "batch",
                Seen(messages, batch.session_ids.tolist(), batch.timestamps.tolist(), batch.positions.tolist(), place),
            )
        )
        self.last = batch


def batches(service: NotingService) -> list[Seen]:
    return [event[1] for event in service.events if event[0] == "batch"]


def test_a_batch_has_the_messages_that_follow_each_other(rig: Rig) -> None:
    service = Batching()
    rig.start(service)
    rig.open_session(5)
    end = rig.append(
        session_message(5, b"one", timestamp=2000), session_message(-7, b"", timestamp=2001), session_message(6, bytes(100), timestamp=2002)
    )
    rig.run(lambda: batches(service))
    assert batches(service) == [Seen([b"one", b"", bytes(100)], [5, -7, 6], [2000, 2001, 2002], [end - 256, end - 192, end], (end, 2002))]
    assert batches(service)[0].place == (end, 2002)


def test_a_batch_is_cut_where_an_event_stands_between(rig: Rig) -> None:
    service = Batching()
    rig.start(service, role=ClusterRole.FOLLOWER)
    rig.run(lambda: service.events[-1][0] == "term")
    service.take()
    committed = rig.commit_position.value
    rig.append(*session_messages(5, [b"a", b"b"]))
    rig.fire_timer(1)
    rig.append(*session_messages(5, [b"c"]))
    rig.open_session(9)
    rig.append(*session_messages(9, [b"d"]))
    rig.close_session(9)
    rig.append(*session_messages(5, [b"e", b"f"]))
    rig.begin_term(4)
    end = rig.append(*session_messages(5, [b"g"]))
    assert committed < end
    rig.run(lambda: rig.containers[0].cluster.log_position == end)
    assert [event[1].messages if event[0] == "batch" else event[0] for event in merged(service)] == [
        [b"a", b"b"],
        "timer",
        [b"c"],
        "open",
        [b"d"],
        "close",
        [b"e", b"f"],
        "term",
        [b"g"],
    ]


def merged(service: NotingService) -> list[tuple[Any, ...]]:
    """Return the events, with batches put together that the commit position cut: the log was read while it was written."""
    found: list[tuple[Any, ...]] = []
    for event in service.events:
        if event[0] == "batch" and found and found[-1][0] == "batch":
            found[-1] = ("batch", Seen(found[-1][1].messages + event[1].messages, [], [], [], (0, 0)))
        else:
            found.append(event)
    return found


def test_a_batch_is_no_longer_than_its_limit_and_a_message_in_fragments_has_one_of_its_own(rig: Rig) -> None:
    service = Batching()
    rig.start(service, batch_limit=3)
    rig.run(lambda: service.events[-1][0] == "term")
    long = bytes(range(250)) * 20
    rig.append(*session_messages(5, [b"a", b"b", b"c", b"d", long, b"e"]), is_committed=False)
    assert rig.log is not None
    rig.commit_position.value = rig.log.position
    rig.run(lambda: rig.log is not None and rig.containers[0].cluster.log_position == rig.log.position)
    assert [seen.messages for seen in batches(service)] == [[b"a", b"b", b"c"], [b"d"], [long], [b"e"]]
    assert [seen.timestamps for seen in batches(service)] == [[2000, 2001, 2002], [2003], [2004], [2005]]


def test_the_messages_are_one_array_where_they_have_one_length(rig: Rig) -> None:
    found: list[Any] = []

    class Recording(Batching):
        def on_batch(self, batch: MessageBatch) -> None:
            records = batch.records("<i8")
            found.append((records.tolist(), records.base is not None and np.shares_memory(records, batch.data)))
            with pytest.raises(ValueError, match="messages have 8 to 8 bytes, an item of int32 has 4"):
                batch.records(np.int32)
            with pytest.raises(TypeError, match="no Python objects"):
                batch.records(object)
            with pytest.raises(IndexError):
                batch[len(batch)]

    rig.start(Recording())
    rig.run(lambda: rig.containers[0].cluster.log_position == 96)
    rig.append(*session_messages(5, [number.to_bytes(8, "little") for number in range(5)]), is_committed=False)
    assert rig.log is not None
    rig.commit_position.value = rig.log.position
    rig.run(lambda: found)
    assert found == [([0, 1, 2, 3, 4], True)]


def test_records_at_unequal_distances_are_copied() -> None:
    data = bytearray(64)
    data[0:4], data[8:12], data[20:24] = (number.to_bytes(4, "little") for number in (1, 2, 3))
    index = np.zeros(3 * 3, np.int64).tobytes() + np.array([0, 8, 20, 4, 4, 4], np.int32).tobytes()
    assert MessageBatch(memoryview(data), index, 3, 3).records("<i4").tolist() == [1, 2, 3]


def test_a_batch_is_held_during_its_call_only(rig: Rig) -> None:
    service = Batching()
    rig.start(service)
    rig.append(session_message(5, b"one"))
    rig.run(lambda: batches(service))
    assert not service.last.is_held
    for use in (lambda: service.last.data, lambda: service.last.offsets, lambda: service.last[0], lambda: list(service.last)):
        with pytest.raises(ClosedError, match="the batch is released"):
            use()


def test_a_batch_that_cannot_be_handled_counts_as_read(rig: Rig) -> None:
    class Failing(Batching):
        def on_batch(self, batch: MessageBatch) -> None:
            super().on_batch(batch)
            raise ValueError("a bad batch")

    service = Failing()
    container = rig.start(service)
    end = rig.append(session_message(5, b"one"))
    rig.fire_timer(1)
    rig.run(lambda: service.events[-1][0] == "timer")
    assert [seen.positions for seen in batches(service)] == [[end]]
    assert rig.errors(container) == ["ValueError: a bad batch"]


def test_arrays_of_batches_that_are_kept_do_not_change(rig: Rig) -> None:
    kept: list[Any] = []

    class Keeping(Batching):
        def on_batch(self, batch: MessageBatch) -> None:
            kept.append((batch.session_ids, batch.session_ids.tolist()))

    rig.start(Keeping())
    for number in range(5):
        end = rig.append(session_message(number, b"x"))
        rig.run(lambda: rig.containers[0].cluster.log_position == end)  # noqa: B023 called at once
    assert [array.tolist() for array, _ in kept] == [ids for _, ids in kept] == [[0], [1], [2], [3], [4]]


class OneByOne(NotingService):
    """Notes messages as a batch would have them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def on_session_message(self, session: ClientSession | None, message: bytes, at: int) -> None:
        self.seen.append((None if session is None else session.id, message, at, self.cluster.log_position))

    def on_timer_event(self, correlation_id: int, at: int) -> None:
        self.seen.append((correlation_id, at, self.cluster.log_position))


class InRuns(OneByOne):
    """The same by batches."""

    def on_batch(self, batch: MessageBatch) -> None:
        columns = batch.session_ids.tolist(), batch, batch.timestamps.tolist(), batch.positions.tolist()
        for session_id, message, at, position in zip(*columns, strict=True):
            session = self.cluster.get_session(session_id)
            self.seen.append((None if session is None else session.id, message, at, position))


def test_batches_have_what_single_messages_have(rig: Rig, seed: int) -> None:
    rng = random.Random(seed)
    one_by_one, in_runs = OneByOne(), InRuns()
    first = rig.launch(one_by_one, service_id=0)
    second = rig.launch(in_runs, service_id=1, batch_limit=rng.choice([1, 2, 7, 1024]), log_fragment_limit=rng.choice([1, 3, 50]))
    rig.recover()
    rig.join(role=ClusterRole.FOLLOWER)
    rig.run(lambda: first.agent.log.image is not None and second.agent.log.image is not None)
    rig.begin_term()
    rig.open_session(5)
    for step in range(300):
        if rng.random() < 0.1:
            rig.fire_timer(step)
        else:
            length = rng.choice([0, 1, 8, 100, 1344, 1345, 5000])
            rig.append(session_message(rng.choice([5, -6]), rng.randbytes(length), timestamp=3000 + step), is_committed=False)
        assert rig.log is not None
        if rng.random() < 0.2 or rig.log.position - rig.commit_position.value > 16_000:  # within the window of the log
            rig.commit_position.value = rig.log.position
            rig.cycles(rng.randrange(3))
    end = rig.fire_timer(-1)
    rig.run(lambda: first.cluster.log_position == second.cluster.log_position == end)
    assert one_by_one.seen == in_runs.seen
    assert len(one_by_one.seen) == 301
