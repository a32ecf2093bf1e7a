"""Pending messages of a service: numbered, appended by a leader, seen by followers, and kept over changes of the leader and snapshots."""

from __future__ import annotations

from collections import deque
from random import Random

import pytest

from aerowire.base.errors import ClusterSnapshotError
from aerowire.cluster.service_messages.pending_service_message_tracker import NOT_APPENDED, PendingServiceMessageTracker
from aerowire.cluster.service_messages.ring_lengths import CAPACITY_MAX
from aerowire.cluster.service_messages.service_session_ids import (
    first_service_session_id,
    service_id_of_log_message,
    service_id_of_service_message,
)
from aerowire.cluster.snapshots.consensus_module_snapshot import PendingMessagesRecord
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from tests.conftest import SEED

BASE = -(1 << 63)


def message(text: bytes = b"", service_id: int = 0) -> bytes:
    """Return a message as a service sends it: its id in the place of a session."""
    return SessionMessageHeader(leadership_term_id=4, cluster_session_id=service_id, timestamp=0).encode() + text


class Log:
    """A leader's log with room for some messages, 64 bytes each."""

    def __init__(self, room: int = 1_000) -> None:
        self.room = room
        self.entries: list[tuple[int, int, bytes]] = []

    def append(self, cluster_session_id: int, payload: memoryview) -> bool:
        if not self.room:
            return False
        self.room -= 1
        self.entries.append((64 * (len(self.entries) + 1), cluster_session_id, bytes(payload)))
        return True

    def poll(self, tracker: PendingServiceMessageTracker) -> int:
        """Append what a tracker has, and tell it the positions; return how many messages there were."""
        count = tracker.poll(self.append)
        for position, _, _ in self.entries[len(self.entries) - count :]:
            tracker.on_appended(position)
        return count


def record(next_number: int, log_number: int, capacity: int = 0, messages: tuple[bytes, ...] = ()) -> PendingMessagesRecord:
    return PendingMessagesRecord(
        service_id=0,
        next_service_session_id=next_number,
        log_service_session_id=log_number,
        capacity=capacity,
        messages=messages,
    )


def header_of(data: bytes) -> tuple[int, int]:
    header = SessionMessageHeader.decode(data)
    return header.cluster_session_id, header.timestamp


def test_numbers_have_the_service_below_the_sign() -> None:
    assert first_service_session_id(0) == BASE
    assert first_service_session_id(9) == BASE + (9 << 56) == -8574853690513424384
    assert service_id_of_log_message(first_service_session_id(9) + 77) == 9
    assert service_id_of_log_message(-1) == 127
    assert (service_id_of_service_message(9), service_id_of_service_message(1 << 32 | 9)) == (9, 9)
    assert service_id_of_service_message(0xFFFF_FFFF) == -1


def test_a_leader_appends_messages_in_order_with_their_numbers_and_without_their_headers() -> None:
    tracker, log = PendingServiceMessageTracker(2), Log()
    for text in (b"one", b"two"):
        assert tracker.enqueue_message(message(text, 2))
    assert log.poll(tracker) == 2
    base = first_service_session_id(2)
    assert log.entries == [(64, base + 1, b"one"), (128, base + 2, b"two")]
    assert log.poll(tracker) == 0
    assert tracker.next_service_session_id == base + 3


def test_a_poll_appends_20_messages_and_stops_where_there_is_no_room() -> None:
    tracker, log = PendingServiceMessageTracker(0), Log(room=25)
    for _ in range(30):
        tracker.enqueue_message(message())
    assert [log.poll(tracker), log.poll(tracker), log.poll(tracker)] == [20, 5, 0]
    log.room = 9
    assert log.poll(tracker) == 5
    assert [entry[1] - BASE for entry in log.entries] == list(range(1, 31))


def test_messages_stay_until_they_are_committed() -> None:
    tracker, log = PendingServiceMessageTracker(0), Log()
    for _ in range(3):
        tracker.enqueue_message(message())
    log.poll(tracker)
    tracker.sweep_leader_messages(127)
    assert tracker.log_service_session_id == BASE + 1
    assert [header_of(data) for data in tracker.messages()] == [(BASE + 2, 128), (BASE + 3, 192)]
    tracker.sweep_leader_messages(192)
    assert (tracker.log_service_session_id, tracker.size, list(tracker.messages())) == (BASE + 3, 0, [])


def test_uncommitted_messages_wait_again_when_the_leader_loses_its_role() -> None:
    tracker, log = PendingServiceMessageTracker(0), Log(room=3)
    for text in (b"a", b"b", b"c", b"d"):
        tracker.enqueue_message(message(text))
    log.poll(tracker)
    tracker.restore_uncommitted_messages(64)
    assert tracker.log_service_session_id == BASE + 1
    assert [header_of(data) for data in tracker.messages()] == [(BASE + number, NOT_APPENDED) for number in (2, 3, 4)]
    tracker.sweep_follower_messages(BASE + 2)
    log = Log()
    log.poll(tracker)
    assert log.entries == [(64, BASE + 3, b"c"), (128, BASE + 4, b"d")]


def test_messages_whose_append_has_no_result_yet_stay_in_order_and_are_not_appended_again() -> None:
    tracker, log = PendingServiceMessageTracker(0), Log()
    for text in (b"a", b"b"):
        tracker.enqueue_message(message(text))
    assert tracker.poll(log.append) == 2
    tracker.enqueue_message(message(b"c"))
    tracker.on_appended(64)
    tracker.sweep_leader_messages(1_000)
    assert tracker.log_service_session_id == BASE + 1
    assert [header_of(data) for data in tracker.messages()] == [(BASE + 2, NOT_APPENDED), (BASE + 3, NOT_APPENDED)]
    assert tracker.poll(log.append) == 1
    assert [payload for _, _, payload in log.entries] == [b"a", b"b", b"c"]
    assert tracker.record().next_service_session_id == BASE + 4


def test_messages_whose_append_is_refused_wait_again_in_order_at_the_end_of_the_term() -> None:
    tracker, log = PendingServiceMessageTracker(0), Log()
    for text in (b"a", b"b", b"c"):
        tracker.enqueue_message(message(text))
    tracker.poll(log.append)
    tracker.on_appended(64)
    tracker.on_append_refused()
    tracker.on_append_refused()
    assert tracker.poll(log.append) == 0
    tracker.restore_uncommitted_messages(64)
    log = Log()
    log.poll(tracker)
    assert log.entries == [(64, BASE + 2, b"b"), (128, BASE + 3, b"c")]


def test_a_follower_does_not_keep_what_the_log_has_already() -> None:
    tracker = PendingServiceMessageTracker(0)
    tracker.sweep_follower_messages(BASE + 2)
    assert tracker.missed_count == 2
    assert tracker.record() == record(BASE + 3, BASE + 2)
    for _ in range(3):
        tracker.enqueue_message(message())
    assert tracker.missed_count == 0
    assert [header_of(data)[0] for data in tracker.messages()] == [BASE + 3]


def test_the_state_of_a_snapshot_is_loaded_and_goes_on() -> None:
    leader, log = PendingServiceMessageTracker(1), Log(room=2)
    for text in (b"a", b"b", b"c"):
        leader.enqueue_message(message(text, 1))
    log.poll(leader)
    leader.sweep_leader_messages(64)
    stored = list(leader.messages())
    base = first_service_session_id(1)
    assert [header_of(data) for data in stored] == [(base + 2, 128), (base + 3, NOT_APPENDED)]

    tracker = PendingServiceMessageTracker(1)
    tracker.load(leader.record())
    assert tracker.size == leader.size == 2 * 48
    log = Log()
    assert log.poll(tracker) == 2
    assert log.entries == [(64, base + 2, b"b"), (128, base + 3, b"c")]


@pytest.mark.parametrize(
    ("next_number", "log_number", "numbers", "problem"),
    [
        (BASE + 4, BASE + 1, [2, 4], r"service 0, latest number in the log .*; expected number -\d+ for pending message 1; got number"),
        (BASE + 5, BASE + 1, [2, 3], r"expected the next number -9223372036854775804 after 2 pending messages; got -9223372036854775803"),
        (BASE + 2, BASE, [], r"the next number -9223372036854775807 after 0"),
    ],
)
def test_a_state_that_cannot_be_is_refused(next_number: int, log_number: int, numbers: list[int], problem: str) -> None:
    messages = tuple(
        SessionMessageHeader(leadership_term_id=0, cluster_session_id=BASE + number, timestamp=NOT_APPENDED).encode() for number in numbers
    )
    with pytest.raises(ClusterSnapshotError, match=problem):
        PendingServiceMessageTracker(0).load(record(next_number, log_number, messages=messages))


def test_a_capacity_that_cannot_be_is_refused() -> None:
    for capacity in (-1, CAPACITY_MAX + 1):
        with pytest.raises(ClusterSnapshotError, match=f"expected 0 to {CAPACITY_MAX} bytes of pending messages; got {capacity} bytes"):
            PendingServiceMessageTracker(0).load(record(BASE + 1, BASE, capacity))


def test_messages_beyond_the_capacity_of_a_ring_are_not_taken() -> None:
    tracker = PendingServiceMessageTracker(0)
    tracker._ring.reset(CAPACITY_MAX)
    assert tracker._ring.append(CAPACITY_MAX - 64) is not None
    assert not tracker.enqueue_message(message(bytes(100)))
    assert tracker.next_service_session_id == BASE + 2


class Twin:
    """A tracker, and beside it a plain queue of numbers with the positions that the leader's log gave them."""

    def __init__(self, random: Random) -> None:
        self.tracker = PendingServiceMessageTracker(0)
        self._random = random
        self._log = Log(room=0)
        self._queue: deque[tuple[int, int]] = deque()
        self._number = self._committed = BASE

    def enqueue(self) -> None:
        self._number += 1
        assert self.tracker.enqueue_message(message(bytes(self._random.randrange(200))))
        if self._number > self._committed:
            self._queue.append((self._number, NOT_APPENDED))

    def poll(self) -> None:
        self._log.room = room = self._random.randrange(5)
        begin = len(self._log.entries)
        count = self._log.poll(self.tracker)
        appended = sum(position != NOT_APPENDED for _, position in self._queue)
        assert count == min(room, len(self._queue) - appended)
        for index, (position, number, _) in enumerate(self._log.entries[begin:], appended):
            assert self._queue[index] == (number, NOT_APPENDED)
            self._queue[index] = number, position

    def commit(self) -> None:
        position = 64 * self._random.randrange(len(self._log.entries) + 1)
        while self._queue and self._queue[0][1] <= position:
            self._committed = self._queue.popleft()[0]
        if self._random.random() < 0.7:
            self.tracker.sweep_leader_messages(position)
        else:
            self.tracker.restore_uncommitted_messages(position)
            self._queue = deque((number, NOT_APPENDED) for number, _ in self._queue)

    def follow(self) -> None:
        if all(position == NOT_APPENDED for _, position in self._queue):
            self._committed = max(self._committed, self._number + self._random.randrange(-2, 3))
            self.tracker.sweep_follower_messages(self._committed)
            while self._queue and self._queue[0][0] <= self._committed:
                self._queue.popleft()

    def check(self) -> None:
        assert [header_of(data) for data in self.tracker.messages()] == list(self._queue)
        assert (self.tracker.next_service_session_id, self.tracker.log_service_session_id) == (self._number + 1, self._committed)
        assert (self.tracker.size == 0) == (not self._queue)


def test_a_random_life_is_that_of_a_plain_queue() -> None:
    random = Random(SEED)
    twin = Twin(random)
    for _ in range(3_000):
        random.choice([twin.enqueue, twin.enqueue, twin.poll, twin.commit, twin.follow])()
        twin.check()
    assert twin.tracker.next_service_session_id > BASE + 1_000


def test_each_message_is_in_the_log_once_whoever_leads() -> None:
    """Three members, of which one leads at a time and loses what is not committed when another one does."""
    random = Random(SEED)
    trackers = [PendingServiceMessageTracker(0) for _ in range(3)]
    sent, seen, leader = [0, 0, 0], [0, 0, 0], 0
    log = Log()
    commit = 0

    def follow(member: int, end: int) -> None:
        for _, cluster_session_id, _ in log.entries[seen[member] : end]:
            trackers[member].sweep_follower_messages(cluster_session_id)
        seen[member] = max(seen[member], end)

    for step in range(4_000):
        member = random.randrange(3)
        draw = random.random()
        if draw < 0.4 and sent[member] < 500 and step < 3_000:
            sent[member] += 1
            trackers[member].enqueue_message(message(b"%d" % sent[member]))
        elif draw < 0.7:
            log.room = random.randrange(6)
            log.poll(trackers[leader])
        elif draw < 0.95:
            commit = random.randrange(commit, len(log.entries) + 1)
            trackers[leader].sweep_leader_messages(64 * commit)
            if member != leader:
                follow(member, commit)
        else:
            trackers[leader].restore_uncommitted_messages(64 * commit)
            seen[leader] = commit
            del log.entries[commit:]
            leader = member
            follow(leader, commit)
    longest = max(sent)
    for other in range(3):
        for number in range(sent[other] + 1, longest + 1):
            trackers[other].enqueue_message(message(b"%d" % number))
    log.room = longest
    while log.poll(trackers[leader]):
        pass
    assert longest > 300
    assert [int(payload) for _, _, payload in log.entries] == list(range(1, longest + 1))
