"""A service of a member, made of messages alone: it acknowledges what it is told, and keeps what it reads of the log."""

from __future__ import annotations

from typing import Any

from aerowire.client import Aeron
from aerowire.client.subscriptions.assembler import FragmentAssembler
from aerowire.codecs.flyweights.cluster.dispatch import decode
from aerowire.codecs.flyweights.cluster.messages.join_log import JoinLog
from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck
from aerowire.codecs.flyweights.cluster.messages.service_termination_position import ServiceTerminationPosition
from aerowire.codecs.flyweights.cnc import RecoveryStateKeyDecoder
from aerowire.codecs.tables.counters import CounterType

CONTROL_CHANNEL = "aeron:ipc?term-length=128k"


class ScriptedService:
    """One service. `read` has what it has consumed: positions and messages. Nothing but `work` changes it."""

    def __init__(self, aeron: Aeron, *, service_id: int = 0, cluster_id: int = 0) -> None:
        self.aeron = aeron
        self.read: list[tuple[int, bytes]] = []
        self.joins: list[JoinLog] = []
        self.terminations: list[ServiceTerminationPosition] = []
        self._service_id = service_id
        self._cluster_id = cluster_id
        self._words: list[Any] = []
        self._acks: list[tuple[int, int]] = []
        self._ack_id = 0
        self._join: JoinLog | None = None
        self._log: Any = None
        self._log_pending: Any = None
        self._has_recovered = False
        self._subscription = aeron.async_add_subscription(CONTROL_CHANNEL, 104)
        self._publication = aeron.async_add_publication(CONTROL_CHANNEL, 105)
        self._assembler = FragmentAssembler(self._on_word)
        self._log_assembler = FragmentAssembler(self._on_log)

    @property
    def commit_position(self) -> int:
        """The value of the member's counter."""
        return int(self._counter(CounterType.CLUSTER_COMMIT_POSITION).value)

    @property
    def position(self) -> int:
        """How far it has read."""
        return self.read[-1][0] if self.read else 0

    def work(self) -> None:
        """Run one duty cycle."""
        self.aeron.invoke()
        if not (self._subscription.poll() and self._publication.poll()):
            return
        if not self._has_recovered:
            self._recover()
        self._subscription.result().poll(self._assembler, 10)
        if self._join is None and self._words:
            self._on_told(self._words.pop(0))
        if self._join is not None:
            self._read(self._join)
        if self._acks:
            position, relevant_id = self._acks[0]
            ack = ServiceAck(log_position=position, timestamp=0, ack_id=self._ack_id, relevant_id=relevant_id, service_id=self._service_id)
            if self._publication.result().offer(ack.encode()) > 0:
                self._ack_id += 1
                del self._acks[0]

    def offer(self, message: bytes) -> bool:
        """Send a message to the consensus module."""
        return self._publication.result().offer(message) > 0

    def _recover(self) -> None:
        counter = self._counter(CounterType.CLUSTER_RECOVERY_STATE)
        if counter is not None:
            self._has_recovered = True
            self._acks.append((RecoveryStateKeyDecoder(counter.key).log_position, self.aeron.client_id))

    def _on_word(self, buffer: memoryview, offset: int, length: int, _header: Any) -> None:
        self._words.append(decode(bytes(buffer[offset : offset + length])))

    def _on_told(self, word: Any) -> None:
        if isinstance(word, JoinLog):
            self.joins.append(word)
            self._join = word
            self._log_pending = self.aeron.async_add_subscription(word.log_channel, word.log_stream_id)
        elif isinstance(word, ServiceTerminationPosition):
            self.terminations.append(word)
            if word.ack_required:
                self._acks.append((word.log_position, -1))

    def _read(self, join: JoinLog) -> None:
        if self._log_pending is not None:
            if not self._log_pending.poll():
                return
            image = self._log_pending.result().image_by_session_id(join.log_session_id)
            if image is not None:
                assert image.join_position == join.log_position
                self._log, self._log_pending = image, None
                self._acks.append((join.log_position, -1))
            return
        self._log.bounded_poll(self._log_assembler, self.commit_position, 10)
        told = (JoinLog, ServiceTerminationPosition)  # of where to stop reading
        ends = [join.max_log_position, *(word.log_position for word in self._words[:1] if isinstance(word, told))]
        if self._log.is_closed or self._log.is_end_of_stream or self._log.position >= min(ends):
            self._log.subscription.close()
            self._join = self._log = None

    def _on_log(self, buffer: memoryview, offset: int, length: int, header: Any) -> None:
        self.read.append((header.position, bytes(buffer[offset : offset + length])))

    def _counter(self, kind: CounterType) -> Any:
        return next((info for info in self.aeron.counters_reader.for_each() if info.type_id == kind), None)
