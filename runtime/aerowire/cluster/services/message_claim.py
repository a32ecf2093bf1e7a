"""Space for a message of a service, written in place: behind the header that the cluster puts before it. Aeron: BufferClaim."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from aerowire.base.errors import ClosedError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.client.publications.claim import BufferClaim


class MessageClaim:
    """Space that was claimed: `claim.buffer[:] = message; claim.commit()`. As a context manager it commits, or aborts if the block raises.

    True when there is space; `result` is then the position after the message, else the code that `offer` would have returned. The claim of
    a member that does not lead has memory of its own, and what is written there goes nowhere.
    """

    __slots__ = ("_claim", "_header_length", "_memory", "result")

    def __init__(self, result: int, memory: bytearray | None = None, claim: BufferClaim | None = None, header: bytes = b"") -> None:
        """`claim` is a publication's, at whose start the header is put; without one, `memory` is what is written to."""
        self.result = result
        self._claim = claim
        self._memory = memory
        self._header_length = len(header)
        if claim is not None:
            claim.put_bytes(header)

    def __bool__(self) -> bool:
        return self.result > 0

    @property
    def is_open(self) -> bool:
        """Whether the message can be written: neither committed nor aborted."""
        return self._memory is not None or (self._claim is not None and self._claim.is_open)

    @property
    def length(self) -> int:
        """Bytes of the message."""
        if self._memory is not None:
            return len(self._memory)
        return 0 if self._claim is None else self._claim.length - self._header_length

    @property
    def buffer(self) -> memoryview:
        """The message's bytes, writable until commit or abort. Raises ClosedError where there are none."""
        if self._memory is not None:
            return memoryview(self._memory)
        if self._claim is None:
            raise ClosedError("nothing is claimed", where=self, hint="look at its result first")
        return self._claim.buffer[self._header_length :]

    def put_bytes(self, data: Buffer, offset: int = 0) -> None:
        """Write a part of the message."""
        view = memoryview(data).cast("B")
        self.buffer[offset : offset + len(view)] = view

    def commit(self) -> None:
        """Send the message."""
        self._memory = None
        if self._claim is not None:
            self._claim.commit()

    def abort(self) -> None:
        """Send nothing, and give the space up."""
        self._memory = None
        if self._claim is not None:
            self._claim.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self.is_open:
            if error_type is None:
                self.commit()
            else:
                self.abort()

    def __repr__(self) -> str:
        return f"MessageClaim(result={self.result}, length={self.length}, is_open={self.is_open})"
