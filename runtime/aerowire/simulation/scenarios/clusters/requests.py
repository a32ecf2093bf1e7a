"""Requests of clients to the register, and its answers, as bytes."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple, Self

_REQUEST = Struct("<BBIIQ")
_ANSWER = Struct("<IIqIQ")


class Operation(IntEnum):
    """The operation of a request."""

    APPEND = 1
    READ = 2
    RELAY = 3
    """An append by way of a message that the service sends to itself."""
    TIMER = 4
    """An append by way of a timer."""


class Request(NamedTuple):
    """The `number`-th request of a client: an operation on a key, with the value that is appended."""

    operation: Operation
    key: int
    client: int
    number: int
    value: int

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
