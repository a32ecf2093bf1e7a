"""What is wrong with the bytes or the values of a message.  Knows nothing of schemas."""

from __future__ import annotations

SHOWN_MAX = 60


class MessageError(ValueError):
    """A message that cannot be read or written: what, where, expected, actual.

    `path` is like `Car.fuelFigures[2].usageDescription`; `offset` is a position in the buffer that was given, None when values were
    written.  `needed` is there when the bytes ended too soon: the least length of the buffer with which it could go on.  `block_end` is
    there when the header could be read and what follows its block is not known: where that block ends in the buffer.
    """

    def __init__(
        self, what: str, *, expected: object = None, actual: object = None, offset: int | None = None, needed: int | None = None
    ) -> None:
        super().__init__(what)
        self.what = what
        self.path = ""
        self.expected = expected
        self.actual = actual
        self.offset = offset
        self.needed = needed
        self.block_end: int | None = None

    def within(self, step: str) -> MessageError:
        """The same error one level up: `step` is a name or an index such as `[2]`."""
        separator = "" if not self.path or self.path.startswith("[") else "."
        self.path = f"{step}{separator}{self.path}"
        return self

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        details = []
        if self.expected is not None:
            details.append(f"expected {self.expected}")
        if self.actual is not None:
            details.append(f"actual {self.actual}")
        if self.offset is not None:
            details.append(f"at byte {self.offset}")
        return f"{where}{self.what}" + (f" ({', '.join(details)})" if details else "")


def shown(value: object) -> str:
    """A value as an error names it: short, whatever it is."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    return _cut(repr(value))


def shown_bytes(raw: bytes) -> str:
    """Bytes of an input as an error names them: the characters where all are visible ones of ASCII, else hex."""
    start = raw[: SHOWN_MAX + 1]
    text = start.decode("latin-1")
    return _cut(text if text.isascii() and text.isprintable() else f"0x{start.hex()}")


def shown_name(name: object) -> str:
    """A name as part of a path, also when it is none of ours."""
    return _cut(str(name))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 3]}..."
