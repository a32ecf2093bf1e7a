"""What is refused and how that is said, and the few functions that every message needs."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from .. import _errors
from .text import MARKED, marked_bytes_of, marked_text_of, until_nul

if TYPE_CHECKING:
    from typing_extensions import Buffer


T = TypeVar("T")
SbeError = _errors.SbeError

if TYPE_CHECKING:

    def new(kind: type[T]) -> T:
        """An object that is not initialised."""
else:
    new = object.__new__


class IrregularError(Exception):
    """The quick way does not apply: the thorough one has to read or write, or to say what is wrong."""


# What the quick way may stumble over; the thorough one then says what it is, or does it.
FAILURES = (
    struct.error,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
    LookupError,
    BufferError,  # a view with gaps
    NotImplementedError,  # one of more than one dimension
    IrregularError,
)


class Place(Protocol):
    """Something that knows where in its message it is."""

    def _path(self) -> str: ...


class FieldMeta(NamedTuple):
    """What the schema says about a field, group, data or member beyond its value."""

    name: str
    id: int | None
    presence: str
    semantic_type: str
    epoch: str
    time_unit: str
    since_version: int
    deprecated: int
    description: str


def view_of(buffer: Buffer, where: str, *, is_written: bool = False) -> memoryview:
    """The buffer's bytes, whatever its items are."""
    try:
        view = memoryview(buffer)
    except ValueError:
        raise SbeError("the buffer is released", where, "a buffer in use", shortened(buffer)) from None
    if not view.c_contiguous:
        raise SbeError("the bytes of the buffer are not side by side", where, "a contiguous buffer", f"strides of {view.strides}")
    if view.format != "B" or view.ndim != 1:
        view = view.cast("B") if view.nbytes else memoryview(bytearray())
    if is_written and view.readonly:
        raise SbeError("the buffer is read-only", where, "a writable buffer", type(buffer).__name__)
    return view


def contiguous(view: memoryview) -> memoryview | bytes:
    """The bytes of any view, copied when they are not side by side."""
    return view.cast("B") if view.c_contiguous and view.nbytes else view.tobytes()


def text_of(raw: bytes, encoding: str) -> str:
    """The text of a row of characters, up to the first NUL; bytes that are none of the encoding are kept as surrogates."""
    return str(raw.partition(b"\0")[0], encoding, "surrogateescape")


def wide_text_of(raw: bytes, encoding: str) -> str:
    """The same for characters of two or four bytes, of which a NUL byte is but a part."""
    text = until_nul(raw, 2 if encoding.startswith("utf-16") else 4)
    try:
        return marked_text_of(text, encoding) if encoding in MARKED else str(text, encoding, "surrogatepass")
    except UnicodeError as error:
        raise SbeError("the bytes are no text", "a row of characters", encoding, error) from None


def bytes_of(value: str | Buffer, encoding: str, size: int) -> bytes:
    """Text as a row of characters, padded with NUL; what does not fit is refused, never cut."""
    if isinstance(value, str):
        if encoding in MARKED:
            raw = marked_bytes_of(value, encoding)
        else:
            raw = value.encode(encoding, "surrogatepass" if encoding.startswith(("utf-16", "utf-32")) else "surrogateescape")
        # It would be the end when the text is read.
        if "\0" in value:
            raise IrregularError
    else:
        raw = bytes(memoryview(value))
    if len(raw) > size:
        raise IrregularError
    return raw.ljust(size, b"\0")


def check_room(where: str, view: memoryview, offset: int, size: int) -> None:
    if offset < 0:
        raise SbeError("the offset is negative", where, f"at least 0 and {size} bytes from there", offset)
    if len(view) - offset < size:
        raise SbeError("too few bytes", where, f"{size} bytes at offset {offset}", max(len(view) - offset, 0))


def refused(owner: Place, name: str, expected: str, value: object) -> SbeError:
    """The error for a value that a field cannot hold, or for a flyweight that has no buffer."""
    if not hasattr(owner, "_buffer"):
        return SbeError("nothing is wrapped", f"{owner._path()}.{name}", "wrap() or wrap_and_apply_header() first", "no buffer")
    return SbeError("the value cannot be written", f"{owner._path()}.{name}", expected, shortened(value))


def shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
