"""Where the reading of a message stands.  Knows nothing of schemas."""

from __future__ import annotations

from aerowire.codegen.sbe.interpreter.errors import MessageError

# Entries that take no bytes cost nothing on the wire, so that nothing else limits them; a real message has a handful.  Generated
# readers have the same limit.
EMPTY_ENTRIES_MAX = 65_535


class Cursor:
    """A position in a buffer.  Every length is checked against `end` BEFORE it is used."""

    __slots__ = ("buffer", "empty_entries", "end", "position")

    def __init__(self, buffer: memoryview, position: int, end: int) -> None:
        self.buffer = buffer
        self.position = position
        self.end = end
        self.empty_entries = 0

    def check(self, what: str, length: int) -> int:
        """Return the position behind `length` bytes; raises when there are fewer."""
        stop = self.position + length
        if stop > self.end:
            raise MessageError(
                f"{what} goes beyond the end",
                expected=f"{length} bytes",
                actual=f"{max(self.end - self.position, 0)} bytes",
                offset=self.position,
                needed=stop,
            )
        return stop

    def take_empty(self, count: int) -> None:
        """Count entries that take no bytes."""
        self.empty_entries += count
        if self.empty_entries > EMPTY_ENTRIES_MAX:
            raise MessageError(
                "has too many entries that take no bytes",
                expected=f"at most {EMPTY_ENTRIES_MAX} in a message",
                actual=count,
                offset=self.position,
            )
