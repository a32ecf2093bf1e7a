"""The messages that one service has sent and that are not committed yet. Aeron: PendingServiceMessageTracker.

All members number the messages of their service alike, so a number says which message is meant. The leader appends messages in order, and
removes one when it is committed; a follower removes those that it sees in the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from struct import Struct
from typing import TYPE_CHECKING, Final

from aerowire.base.errors import ClusterSnapshotError
from aerowire.base.units import INT64_MAX
from aerowire.cluster.service_messages.ring_lengths import CAPACITY_MAX, RingLengths
from aerowire.cluster.service_messages.service_session_ids import first_service_session_id
from aerowire.cluster.snapshots.consensus_module_snapshot import PendingMessagesRecord
from aerowire.codecs.flyweights.cluster.header import HEADER
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeaderDecoder

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Messages appended in a poll: the ingress of clients has its turn between polls.
SERVICE_MESSAGE_LIMIT: Final = 20
# The timestamp of a message that is not in the leader's log; otherwise it is the message's position there.
NOT_APPENDED: Final = INT64_MAX

SESSION_HEADER_LENGTH: Final = HEADER.size + SessionMessageHeaderDecoder.SBE_BLOCK_LENGTH
_SESSION_ID_OFFSET: Final = HEADER.size + SessionMessageHeaderDecoder.CLUSTER_SESSION_ID_ENCODING_OFFSET
_TIMESTAMP_OFFSET: Final = HEADER.size + SessionMessageHeaderDecoder.TIMESTAMP_ENCODING_OFFSET
_INT64: Final = Struct("<q")

MessageAppender = Callable[[int, memoryview], bool]
"""Takes a message for the leader's log, by its session id and its bytes behind the header; returns False if there is no room for it.

`on_appended` or `on_append_refused` tells the result of each, in order, before the term ends.
"""


class _PendingMessage:
    """A message with its session header, and the bytes that it and the padding before it take in the official ring."""

    __slots__ = ("data", "length", "padding")

    def __init__(self, data: bytearray, padding: int, length: int) -> None:
        self.data = data
        self.padding = padding
        self.length = length

    @property
    def cluster_session_id(self) -> int:
        return int(_INT64.unpack_from(self.data, _SESSION_ID_OFFSET)[0])

    @property
    def append_position(self) -> int:
        return int(_INT64.unpack_from(self.data, _TIMESTAMP_OFFSET)[0])

    @append_position.setter
    def append_position(self, position: int) -> None:
        _INT64.pack_into(self.data, _TIMESTAMP_OFFSET, position)


class PendingServiceMessageTracker:
    """One service's pending messages, in order. Changed by all methods but `messages` and `record`.

    Invariant: `_appended` holds the first messages, which are in the leader's log at increasing positions, `_appending` those that follow
    and have no result yet, `_waiting` the others.
    """

    def __init__(self, service_id: int) -> None:
        """Start before the service's first message."""
        self.service_id = service_id
        self.log_service_session_id = first_service_session_id(service_id)
        self.next_service_session_id = self.log_service_session_id + 1
        self._appended: deque[_PendingMessage] = deque()
        self._appending: deque[_PendingMessage] = deque()
        self._waiting: deque[_PendingMessage] = deque()
        self._ring = RingLengths()

    @property
    def size(self) -> int:
        """The bytes that the messages take in the official ring, which a snapshot gives as the capacity."""
        return self._ring.size

    @property
    def missed_count(self) -> int:
        """How many messages the log had that this member's service never sent: more than 0 if it is not deterministic."""
        return 0 if self._has_messages else max(0, self.log_service_session_id + 1 - self.next_service_session_id)

    def messages(self) -> Iterator[bytes]:
        """Yield the messages with their headers, as a snapshot has them."""
        for message in (*self._appended, *self._appending, *self._waiting):
            yield bytes(message.data)

    # Messages of the service

    def enqueue_message(self, message: Buffer) -> bool:
        """Take a message of the service, with its session header; one that the log already has is not kept.

        Return False if there is no room for it: then it is lost, and this member's log will lack it if it leads.
        """
        cluster_session_id = self.next_service_session_id
        self.next_service_session_id += 1
        if cluster_session_id <= self.log_service_session_id:
            return True
        data = bytearray(message)
        _INT64.pack_into(data, _SESSION_ID_OFFSET, cluster_session_id)
        _INT64.pack_into(data, _TIMESTAMP_OFFSET, NOT_APPENDED)
        return self._append(data)

    # Leading

    def poll(self, append: MessageAppender) -> int:
        """Append messages to the log, until there is no room or the limit is reached; return how many were taken for it."""
        count = 0
        while self._waiting and count < SERVICE_MESSAGE_LIMIT:
            message = self._waiting[0]
            if not append(message.cluster_session_id, memoryview(message.data)[SESSION_HEADER_LENGTH:]):
                break
            self._appending.append(self._waiting.popleft())
            count += 1
        return count

    def on_appended(self, position: int) -> None:
        """Note the position of the first message that has no result yet."""
        message = self._appending.popleft()
        message.append_position = position
        self._appended.append(message)

    def on_append_refused(self) -> None:
        """Note that the first message without a result is not in the log: it waits again when the term ends."""
        self._appended.append(self._appending.popleft())

    def sweep_leader_messages(self, commit_position: int) -> None:
        """Remove the messages that are committed."""
        if self._appended:
            while self._appended and self._appended[0].append_position <= commit_position:
                message = self._appended.popleft()
                self.log_service_session_id = message.cluster_session_id
                self._ring.remove(message.padding + message.length)
            self._remove_padding()

    def restore_uncommitted_messages(self, commit_position: int) -> None:
        """Remove the messages that are committed; the others were appended in vain, and wait again.

        At the end of leading, after all results of appends.
        """
        self.sweep_leader_messages(commit_position)
        self._waiting.extendleft(reversed(self._appended))
        self._appended.clear()
        self._mark_not_appended()

    # Following

    def sweep_follower_messages(self, cluster_session_id: int) -> None:
        """Remove the messages up to one that the log has."""
        self.log_service_session_id = cluster_session_id
        while self._waiting and self._waiting[0].cluster_session_id <= cluster_session_id:
            message = self._waiting.popleft()
            self._ring.remove(message.padding + message.length)
        self._remove_padding()

    # Snapshots

    def record(self) -> PendingMessagesRecord:
        """Return what a snapshot keeps. The next number is that after the latest in the log where messages are missed."""
        return PendingMessagesRecord(
            service_id=self.service_id,
            next_service_session_id=self.next_service_session_id if self._has_messages else self.log_service_session_id + 1,
            log_service_session_id=self.log_service_session_id,
            capacity=self.size,
            messages=tuple(self.messages()),
        )

    def load(self, record: PendingMessagesRecord) -> None:
        """Go on from what a snapshot has kept. Raises ClusterSnapshotError if the messages are not those that the numbers stand for."""
        if not 0 <= record.capacity <= CAPACITY_MAX:
            raise self._wrong(f"0 to {CAPACITY_MAX} bytes of pending messages", f"{record.capacity} bytes")
        self.next_service_session_id = record.next_service_session_id
        self.log_service_session_id = record.log_service_session_id
        self._appended.clear()
        self._waiting.clear()
        self._ring.reset(record.capacity)
        for data in record.messages:
            if not self._append(bytearray(data)):
                raise self._wrong(f"at most {CAPACITY_MAX} bytes of pending messages", f"more in message {len(self._waiting)}")
        self._verify()
        self._mark_not_appended()

    @property
    def _has_messages(self) -> bool:
        return bool(self._appended or self._appending or self._waiting)

    def _verify(self) -> None:
        """Check that the numbers of the messages are those between the latest in the log and the next."""
        expected = self.log_service_session_id
        for index, message in enumerate(self._waiting):
            expected += 1
            if message.cluster_session_id != expected:
                raise self._wrong(f"number {expected} for pending message {index}", f"number {message.cluster_session_id}")
        if self.next_service_session_id != expected + 1:
            raise self._wrong(
                f"the next number {expected + 1} after {len(self._waiting)} pending messages", f"{self.next_service_session_id}"
            )

    def _mark_not_appended(self) -> None:
        """Mark the messages at the front that were in a log as not appended: a snapshot may hold those of a leader."""
        for message in self._waiting:
            if message.append_position == NOT_APPENDED:
                break
            message.append_position = NOT_APPENDED

    def _append(self, data: bytearray) -> bool:
        taken = self._ring.append(len(data))
        if taken is None:
            return False
        self._waiting.append(_PendingMessage(data, *taken))
        return True

    def _remove_padding(self) -> None:
        """Remove the padding before the first message, as the official ring does when it looks at that message."""
        for message in self._appended or self._appending or self._waiting:
            self._ring.remove(message.padding)
            message.padding = 0
            break

    def _wrong(self, expected: str, actual: str) -> ClusterSnapshotError:
        where = f"service {self.service_id}, latest number in the log {self.log_service_session_id}"
        return ClusterSnapshotError("a snapshot has wrong pending messages", where=where, expected=expected, actual=actual)
