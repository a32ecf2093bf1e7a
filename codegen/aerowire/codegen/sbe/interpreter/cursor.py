"""Where the reading of a message stands.  Knows nothing of schemas."""

from __future__ import annotations

from aerowire.codegen.sbe.interpreter.errors import MessageError

# Entries that take no bytes cost nothing on the wire, so that nothing else limits them; a real message has a handful.  Generated
# readers have the same limit.
EMPTY_ENTRIES_MAX = 65_535
# Their constants, and elements of arrays that are newer than the message: here each is an object, generated readers make it when asked.
EMPTY_VALUES_MAX = 1 << 20


class Cursor:
    """A position in a buffer.  Every length is checked against `end` BEFORE it is used."""

    __slots__ = ("buffer", "empty_entries", "empty_values", "end", "position")

    def __init__(self, buffer: memoryview, position: int, end: int) -> None:
        self.buffer = buffer
        self.position = position
        self.end = end
        self.empty_entries = 0
        self.empty_values = 0

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

    def take_empty(self, count: int, values: int) -> None:
        """Count entries that take no bytes, each of so many values."""
        self.empty_entries += count
        self.empty_values += count * values
        if self.empty_entries > EMPTY_ENTRIES_MAX or self.empty_values > EMPTY_VALUES_MAX:
            raise MessageError(
                "has too many entries that take no bytes",
                expected=f"at most {EMPTY_ENTRIES_MAX} in a message, with {EMPTY_VALUES_MAX} values",
                actual=f"{count} with {count * values}",
                offset=self.position,
            )
