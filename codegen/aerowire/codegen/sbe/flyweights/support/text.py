"""Characters of two or four bytes: where a row of them ends, and encodings in which a mark in front says the order of bytes."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Without a mark they are big-endian, as Java reads and writes them; Python would go by the machine.
MARKED = {
    "utf-16": ("utf-16-be", codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE),
    "utf-32": ("utf-32-be", codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE),
}


def marked_text_of(raw: Buffer, encoding: str) -> str:
    """The text of bytes that may have a mark in front."""
    data = bytes(raw)
    big_endian, *_ = MARKED[encoding]
    return str(data, encoding if data.startswith(MARKED[encoding][1:]) else big_endian, "surrogatepass")


def marked_bytes_of(value: str, encoding: str) -> bytes:
    """The bytes of text, with a mark in front unless it is empty."""
    big_endian, mark, _ = MARKED[encoding]
    return mark + value.encode(big_endian, "surrogatepass") if value else b""


def until_nul(raw: bytes, unit: int) -> bytes:
    """The bytes in front of the first NUL character, which has `unit` bytes."""
    nul = bytes(unit)
    at = raw.find(nul)
    while at % unit and at >= 0:
        at = raw.find(nul, at + 1)
    return raw if at < 0 else raw[:at]
