"""Requests of clients to the register, and its answers, as bytes."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple, Self

_REQUEST = Struct("<BBIIQ")
_ANSWER = Struct("<IIqIQ")
_TIMER_MS = 200
_LATE_MS = 2_000


class Operation(IntEnum):
    """The operation of a request."""

    APPEND = 1
    READ = 2
    RELAY = 3
    """An append by way of a message that the service sends to itself."""
    TIMER = 4
    """An append by way of a timer."""
    LATE_TIMER = 5
    """An append by way of a timer of up to two seconds."""


class Request(NamedTuple):
    """The `number`-th request of a client: an operation on a key, with the value that is appended."""

    operation: Operation
    key: int
    client: int
    number: int
    value: int

    @property
    def is_timed(self) -> bool:
        """Whether a timer carries it out."""
        return self.operation in {Operation.TIMER, Operation.LATE_TIMER}

    @property
    def delay_ms(self) -> int:
        """The time until its timer expires."""
        return 1 + self.value % _LATE_MS if self.operation is Operation.LATE_TIMER else _TIMER_MS

    def encode(self) -> bytes:
        """Return its bytes."""
        return _REQUEST.pack(*self)

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Return the request of a message."""
        operation, *rest = _REQUEST.unpack(message)
        return cls(Operation(operation), *rest)


class Answer(NamedTuple):
    """An answer of the register: the request, the position behind it in the log, and the count and digest of the key's values there."""

    client: int
    number: int
    position: int
    size: int
    digest: int

    def encode(self) -> bytes:
        """Return its bytes."""
        return _ANSWER.pack(*self)

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Return the answer of a message."""
        return cls(*_ANSWER.unpack(message))
