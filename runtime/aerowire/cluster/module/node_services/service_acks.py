"""Acknowledgements of a node's services, in order: of having recovered, joined a log, taken a snapshot, come to an end. Sans I/O.

Each service numbers its acknowledgements from 0. A round is complete once each service has sent the acknowledgement of its number. A
service acknowledges each JoinLog once, provided that it gets the next one after that: so a log is joined when `is_settled`.
Aeron: ServiceAck.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from aerowire.base.errors import ConsensusModuleError

FAILED_ID: Final = -1
# A service is at most as many rounds ahead of the slowest one as the module asks for at a time.
_QUEUE_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Ack:
    """An acknowledgement of one service. `relevant_id` is its client, its snapshot's recording, or -1."""

    ack_id: int
    log_position: int
    relevant_id: int


class ServiceAcks:
    """The acknowledgements that have come and were not taken. Invariant: `ack_id` is the number of the next round."""

    def __init__(self, service_count: int) -> None:
        """Start before the first round."""
        self._queues: tuple[deque[Ack], ...] = tuple(deque() for _ in range(service_count))
        self.ack_id = 0
        self._expected: deque[int] = deque()

    @property
    def service_count(self) -> int:
        """How many services a round has."""
        return len(self._queues)

    @property
    def is_settled(self) -> bool:
        """Whether every log that services were told to join is joined."""
        return not self._expected

    def expect_join(self, log_position: int) -> None:
        """Note that services were told to join a log at a position; without services it is joined."""
        if self._queues:
            self._expected.append(log_position)

    def add(self, service_id: int, ack: Ack) -> None:
        """Take an acknowledgement. Raises ConsensusModuleError for one that is out of order, or of a service that there is not."""
        if not 0 <= service_id < len(self._queues):
            raise ConsensusModuleError("acknowledgement of an unknown service", expected=f"0 to {len(self._queues) - 1}", actual=service_id)
        queue = self._queues[service_id]
        expected = (queue[-1].ack_id if queue else self.ack_id - 1) + 1
        if ack.ack_id != expected:
            what = "initial ack already received from service: possible duplicate" if ack.ack_id == 0 else "ack out of sequence"
            raise ConsensusModuleError(what, where=f"serviceId={service_id}", expected=f"ackId={expected}", actual=ack)
        if len(queue) >= _QUEUE_MAX:
            raise ConsensusModuleError("too many acknowledgements", where=f"serviceId={service_id}", expected=_QUEUE_MAX, actual=ack)
        queue.append(ack)

    def settle(self) -> None:
        """Take complete rounds of joined logs. Raises ConsensusModuleError where a service acknowledges another position."""
        while self._expected and self.is_round_complete:
            acks = self.take_round()
            position = self._expected.popleft()
            if any(ack.log_position != position for ack in acks):
                raise ConsensusModuleError("ack out of sequence", expected=f"logPosition={position}", actual=acks)

    @property
    def is_round_complete(self) -> bool:
        """Whether each service has sent the acknowledgement of the next round; so it is without services."""
        return all(self._queues)

    def take_round(self) -> tuple[Ack, ...]:
        """Take the acknowledgements of a complete round, by service."""
        self.ack_id += 1
        return tuple(queue.popleft() for queue in self._queues)
