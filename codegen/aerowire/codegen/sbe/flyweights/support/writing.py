"""Encoders: fields anywhere in a block, then its groups and data in the schema's order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from .errors import SbeError, check_room, contiguous, shortened, view_of
from .flyweight import Flyweight
from .parts import DataPart, GroupPart, Numbers
from .text import marked_bytes_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

TOO_SMALL = "the buffer is too small"  # what is wrong then: who has a larger one tries again


class CompositeEncoder(Flyweight):
    """Values side by side, to be written."""

    __slots__ = ()
    ENCODED_LENGTH: ClassVar[int]

    def wrap(self, buffer: Buffer, offset: int = 0) -> Self:
        """Write from `offset` on; returns itself."""
        view = view_of(buffer, self._NAME, is_written=True)
        check_room(self._NAME, view, offset, self.ENCODED_LENGTH)
        return self._at(view, offset)

    def _at(self, view: memoryview, offset: int) -> Self:
        self._buffer = view
        self._offset = offset
        return self


class Cursor:
    """Where the next group or data of a message goes."""

    __slots__ = ("at", "end")

    def __init__(self, at: int, end: int) -> None:
        self.at = at
        self.end = end

    def claim(self, size: int, block: BlockEncoder, name: str) -> int:
        """Take the next bytes, which must be there; returns their offset."""
        at = self.at
        if size > self.end - at:
            where = f"{block._path()}.{name}" if name else block._path()
            raise SbeError(TOO_SMALL, where, f"{size} bytes at offset {at}", self.end - at)
        self.at = at + size
        return at


class NoCursor(Cursor):
    """That of an encoder that wraps nothing."""

    __slots__ = ()

    def claim(self, size: int, block: BlockEncoder, name: str) -> int:
        wanted = f"wrap() or wrap_and_apply_header() before {size} bytes"
        raise SbeError("nothing is wrapped", f"{block._path()}.{name}", wanted, "no buffer")


class BlockEncoder(Flyweight):
    """Writes a block of fields, then groups, then data in the schema's order."""

    __slots__ = ("_cursor", "_order")
    _cursor: Cursor
    _order: Any
    _BLOCK_LENGTH: ClassVar[int]
    _PARTS: ClassVar[tuple[DataPart | GroupPart, ...]]

    def _put_group(self, part: GroupPart, _: int, count: int) -> GroupEncoder[Any]:
        """Begin a group; its place among the parts is for the checks of the order."""
        return begin_group(part, self, count)

    def _put_data(self, part: DataPart, _: int, value: str | Buffer) -> None:
        if isinstance(value, str) and not part.encoding:
            raise SbeError("the value cannot be written", f"{self._path()}.{part.name}", "bytes", shortened(value))
        try:
            if isinstance(value, str):
                raw: bytes | memoryview = value.encode(part.encoding, part.errors)
            else:
                raw = value if type(value) is bytes else contiguous(memoryview(value))
        except (TypeError, LookupError, ValueError) as error:
            where = f"{self._path()}.{part.name}"
            raise SbeError("the value cannot be written", where, part.encoding or "bytes", f"{shortened(value)} ({error})") from None
        if len(raw) > part.maximum:
            raise SbeError("data is too long", f"{self._path()}.{part.name}", f"at most {part.maximum} bytes", len(raw))
        at = self._cursor.claim(part.size + len(raw), self, part.name)
        part.put_length(self._buffer, at, len(raw))
        self._buffer[at + part.size : at + part.size + len(raw)] = raw

    def sbe_check_complete(self) -> None:
        """Raise SbeError when a group, an entry or data is missing, if the order is checked; does nothing if it is not."""

    def _shown(self) -> tuple[str, ...]:
        """The fields of the block: groups and data are only written."""
        return self._MEMBERS[: len(self._MEMBERS) - len(self._PARTS)]

    def _put_marked_text(self, part: DataPart, index: int, value: str | Buffer) -> None:
        self._put_data(part, index, marked_bytes_of(value, part.encoding) if isinstance(value, str) else value)

    def _unreadable(self, name: str) -> AttributeError:
        return AttributeError(f"{self._path()}.{name} is written in its turn; a decoder reads it")


class MessageEncoder(BlockEncoder):
    """Writes a message.  The bytes of the block keep what was in the buffer until its fields are set."""

    __slots__ = ("_source",)
    _source: Buffer | None
    SBE_TEMPLATE_ID: ClassVar[int]
    SBE_SCHEMA_ID: ClassVar[int]
    SBE_SCHEMA_VERSION: ClassVar[int]
    SBE_BLOCK_LENGTH: ClassVar[int]
    _HEADER: ClassVar[Numbers]

    def __init__(self) -> None:
        self._source = None
        self._cursor = NoCursor(0, 0)

    def wrap(self, buffer: Buffer, offset: int = 0) -> Self:
        """Write a message whose block starts at `offset`; returns itself."""
        return self._wrap(view_of(buffer, self._NAME, is_written=True), offset)

    def _wrap(self, view: memoryview, offset: int) -> Self:
        check_room(self._NAME, view, offset, self.SBE_BLOCK_LENGTH)
        self._source = None
        self._buffer = view
        self._offset = offset
        self._cursor = Cursor(offset + self.SBE_BLOCK_LENGTH, len(view))
        return self

    def wrap_and_apply_header(self, buffer: Buffer, offset: int = 0) -> Self:
        """Write a header at `offset`, and the message behind it; returns itself."""
        return self._wrap_with_header(view_of(buffer, self._NAME, is_written=True), offset)

    def _wrap_with_header(self, view: memoryview, offset: int) -> Self:
        """The same with every check; what a message has of its own is for the usual case."""
        check_room(self._NAME, view, offset, self._HEADER.size + self.SBE_BLOCK_LENGTH)
        values = (self.SBE_BLOCK_LENGTH, self.SBE_TEMPLATE_ID, self.SBE_SCHEMA_ID, self.SBE_SCHEMA_VERSION)
        self._HEADER.pack(view, offset, *values)
        return self._wrap(view, offset + self._HEADER.size)

    @property
    def sbe_limit(self) -> int:
        """Where the next group or data goes, as an offset in the buffer."""
        return self._cursor.at

    @property
    def encoded_length(self) -> int:
        """Bytes written so far, without a header."""
        return self._cursor.at - self._offset

    def rewind(self) -> None:
        """Start again behind the block."""
        self._wrap(self._buffer, self._offset)


class EntryEncoder(BlockEncoder):
    """Writes one entry of a group."""

    __slots__ = ("_index", "_owner")
    _index: int
    _owner: GroupEncoder[Any]

    def _path(self) -> str:
        return f"{self._owner._path()}[{self._index}]"


EntryEncoderT = TypeVar("EntryEncoderT", bound=EntryEncoder)


class GroupEncoder(Iterator[EntryEncoderT]):
    """Gives the entries of a group, one after the other, to be written: by iteration or with `next`."""

    __slots__ = ("_count", "_index", "_order", "_owner", "_part")
    _order: Any

    def __init__(self, owner: BlockEncoder, part: GroupPart, count: int) -> None:
        self._owner = owner
        self._part = part
        self._count = count
        self._index = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> EntryEncoderT:
        owner, index = self._owner, self._index
        if index >= self._count:
            raise StopIteration
        entry: Any = self._part.encoder()
        entry._owner = self
        entry._index = index
        entry._buffer = owner._buffer
        entry._cursor = cursor = owner._cursor
        entry._offset = at = cursor.at
        end = at + self._part.full_block_length
        if end > cursor.end:
            cursor.claim(self._part.full_block_length, entry, "")
        cursor.at = end
        self._index = index + 1
        return entry  # type: ignore[no-any-return]

    def next(self) -> EntryEncoderT:
        """The next entry; raises SbeError when all were given."""
        if self._index >= self._count:
            raise SbeError("there are no more entries to write", self._path(), f"at most {self._count}", self._index + 1)
        return next(self)

    def _path(self) -> str:
        return f"{self._owner._path()}.{self._part.name}"


def begin_group(part: GroupPart, block: BlockEncoder, count: int) -> GroupEncoder[Any]:
    """Write the dimensions of a group of `count` entries."""
    if not isinstance(count, int) or not part.minimum <= count <= part.maximum:
        where = f"{block._path()}.{part.name}"
        raise SbeError("a group cannot have so many entries", where, f"{part.minimum} to {part.maximum}", shortened(count))
    at = block._cursor.claim(part.size, block, part.name)
    part.put_dimensions(block._buffer, at, part.full_block_length, count)
    return GroupEncoder(block, part, count)
