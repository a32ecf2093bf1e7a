"""Acknowledgements of a node's services, in order: of having recovered, joined a log, taken a snapshot, come to an end. Sans I/O.

Each service numbers its acknowledgements from 0. A round is complete once each service has sent the acknowledgement of its number. A
service acknowledges each JoinLog once, provided that it gets the next one after that: so a log is joined when `is_settled`. A service may
still read a log that has ended when the next JoinLog comes, and acknowledges events of the former log first. Expected acknowledgements,
of snapshots and of joined logs, are therefore kept IN ORDER.
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


@dataclass(frozen=True, slots=True)
class _Expected:
    log_position: int
    is_snapshot: bool


class ServiceAcks:
    """The acknowledgements that have come and were not taken. Invariant: `ack_id` is the number of the next round."""

    def __init__(self, service_count: int) -> None:
        """Start before the first round."""
        self._queues: tuple[deque[Ack], ...] = tuple(deque() for _ in range(service_count))
        self.ack_id = 0
        self._expected: deque[_Expected] = deque()

    @property
    def service_count(self) -> int:
        """How many services a round has."""
        return len(self._queues)

    @property
    def is_settled(self) -> bool:
        """Whether every log that services were told to join is joined."""
        return all(expected.is_snapshot for expected in self._expected)

    @property
    def is_snapshot_next(self) -> bool:
        """Whether the next round that is asked for is that of a snapshot."""
        return bool(self._expected) and self._expected[0].is_snapshot

    def expect_join(self, log_position: int) -> None:
        """Note that services were told to join a log at a position; without services it is joined."""
        if self._queues:
            self._expected.append(_Expected(log_position, is_snapshot=False))

    @property
    def is_snapshot_expected(self) -> bool:
        """Whether a snapshot is asked for."""
        return any(expected.is_snapshot for expected in self._expected)

    def expect_snapshot(self, log_position: int) -> None:
        """Note that the log asks for a snapshot at a position."""
        if self._queues:
            self._expected.append(_Expected(log_position, is_snapshot=True))

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
        """Take complete rounds of joined logs, up to that of a snapshot. Raises ConsensusModuleError where one is of another position.

        A snapshot that services never read of, as their log ended before, is no longer asked for.
        """
        while self._expected and self.is_round_complete:
            expected, round_ = self._expected[0], tuple(queue[0] for queue in self._queues)
            is_there = all(ack.log_position == expected.log_position for ack in round_)
            if expected.is_snapshot and is_there and not self._is_of_a_join(round_):
                break
            self._expected.popleft()
            if expected.is_snapshot:
                continue
            self.take_round()
            if not is_there:
                raise ConsensusModuleError("ack out of sequence", expected=f"logPosition={expected.log_position}", actual=round_)

    def _is_of_a_join(self, round_: tuple[Ack, ...]) -> bool:
        """Whether the round of a snapshot's position is that of the log joined there: it has no recordings."""
        is_joined_there = len(self._expected) > 1 and self._expected[1] == _Expected(round_[0].log_position, is_snapshot=False)
        return is_joined_there and all(ack.relevant_id == FAILED_ID for ack in round_)

    def take_snapshot_round(self) -> tuple[Ack, ...]:
        """Take the acknowledgements of the snapshot that is next, and the rounds of joined logs behind it."""
        self._expected.popleft()
        round_ = self.take_round()
        self.settle()
        return round_

    def has_acknowledged(self, service_id: int) -> bool:
        """Whether a service has sent the acknowledgement of the next round."""
        return bool(self._queues[service_id])

    @property
    def is_round_complete(self) -> bool:
        """Whether each service has sent the acknowledgement of the next round; so it is without services."""
        return all(self._queues)

    def take_round(self) -> tuple[Ack, ...]:
        """Take the acknowledgements of a complete round, by service."""
        self.ack_id += 1
        return tuple(queue.popleft() for queue in self._queues)
