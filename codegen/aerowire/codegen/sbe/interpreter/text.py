"""Characters of a schema's `characterEncoding`, as Java names it, to Python's codecs and back."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

DEFAULT = "US-ASCII"  # of a char array that names none
# Decoding these strictly and encoding again always gives the same bytes.
EXACT = frozenset({"ascii", "utf-8", "iso8859-1"})
# Java reads these without a mark as big-endian, and writes them so; Python goes by the machine.
MARKED = {
    "utf-16": ("utf-16-be", codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE),
    "utf-32": ("utf-32-be", codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE),
}


@dataclass(frozen=True, slots=True)
class TextCodec:
    """An encoding by Python's name.  `is_exact`: what it decodes strictly it encodes to the same bytes, and any bytes survive
    the error handler surrogateescape."""

    name: str
    is_exact: bool

    def decode(self, raw: bytes, errors: str = "strict") -> str:
        if self.name in MARKED and not raw.startswith(MARKED[self.name][1:]):
            return raw.decode(MARKED[self.name][0], errors)
        return raw.decode(self.name, errors)

    def encode(self, text: str, errors: str = "strict") -> bytes:
        if self.name in MARKED:
            big_endian, mark, _ = MARKED[self.name]
            return mark + text.encode(big_endian, errors) if text else b""
        return text.encode(self.name, errors)

    @property
    def unit(self) -> int:
        """Bytes of the smallest character."""
        return 2 if self.name.startswith("utf-16") else 4 if self.name.startswith("utf-32") else 1

    @property
    def keeping(self) -> str:
        """The error handler with which most of what is no text survives as surrogates."""
        return "surrogateescape" if self.unit == 1 else "surrogatepass"

    def until_nul(self, raw: bytes) -> bytes:
        """The bytes in front of the first NUL character."""
        unit = self.unit
        if unit == 1:
            return raw.partition(b"\0")[0]
        ends = (at for at in range(0, len(raw) - unit + 1, unit) if not any(raw[at : at + unit]))
        return raw[: next(ends, len(raw))]

    def is_reversible(self, raw: bytes, text: str) -> bool:
        """Whether `text`, decoded strictly from `raw`, gives it back."""
        if self.is_exact:
            return True
        try:
            return self.encode(text) == raw
        except UnicodeError:
            return False


def text_codec(encoding: str) -> TextCodec | None:
    """The codec of that name; None when Python has none, or none for text."""
    try:
        found = codecs.lookup(encoding.strip())
        "".encode(found.name)
    except (LookupError, ValueError):
        return None
    return TextCodec(found.name, found.name in EXACT)


LATIN_1 = TextCodec("iso8859-1", is_exact=True)


def array_codec(encoding: str) -> TextCodec:
    """The codec of a char array: one that Python does not know is read as Latin-1, which has all bytes."""
    return text_codec(encoding or DEFAULT) or LATIN_1
