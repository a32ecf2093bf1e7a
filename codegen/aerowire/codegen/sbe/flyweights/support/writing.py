"""Encoders: fields anywhere in a block, then its groups and data in the schema's order."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from .errors import SbeError, check_room, contiguous, shortened, view_of
from .flyweight import Flyweight
from .parts import DataPart, GroupPart, Numbers
from .text import marked_bytes_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

TOO_SMALL = "the buffer is too small"  # what is wrong then: who has a larger one tries again
ILLEGAL_ORDER = "fields in illegal order"


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


class Turn:
    """An entry that has groups or data of its own, while they are written, and what is to be restored behind it.

    `outer`, `passed` and `left` are those of the cursor when the entry was begun.
    """

    __slots__ = ("index", "left", "outer", "part", "passed")

    def __init__(self, part: GroupPart, index: int, outer: Turn | None, passed: int, left: int) -> None:
        self.part = part
        self.index = index
        self.outer = outer
        self.passed = passed
        self.left = left

    def path(self) -> str:
        """Where in the message the entry is, in the schema's names."""
        before = f"{self.outer.path()}." if self.outer is not None else ""
        return f"{before}{self.part.name}[{self.index}]"


class Cursor:
    """Where the next group or data of a message goes, and which one it must be.

    `turn` is the innermost entry that is being written, None for the message; `passed` counts its groups and data that are begun,
    `left` the entries of its last group that are not, if they have groups or data of their own.  `due` is where the next part of the
    block may start, -1 while entries are left; `limit` ends the entries of a group of blocks.
    Invariant: bytes before `at` are a correct start of a message, once the fields of the blocks are set.
    It has no reference to an encoder: the buffer must be free when the last encoder is gone.
    """

    __slots__ = ("at", "due", "end", "left", "limit", "passed", "turn")
    turn: Turn | None

    def __init__(self, at: int, end: int) -> None:
        self.at = at
        self.end = end
        self.due = at
        self.limit = at
        self.passed = 0
        self.left = 0
        self.turn = None

    def claim(self, size: int, block: BlockEncoder, name: str) -> int:
        """Take the next bytes, which must be there; returns their offset."""
        at = self.at
        if size > self.end - at:
            where = f"{block._path()}.{name}" if name else block._path()
            raise SbeError(TOO_SMALL, where, f"{size} bytes at offset {at}", self.end - at)
        self.at = at + size
        return at

    def enter(self, part: GroupPart, index: int) -> Turn:
        """Begin an entry whose block ends at the cursor; returns its turn."""
        made = self.turn = Turn(part, index, self.turn, self.passed, self.left - 1)
        self.passed = self.left = 0
        self.due = self.at
        return made

    def turn_to(self, block: BlockEncoder, index: int) -> None:
        """Leave entries that are complete; raises SbeError unless it is the turn of that group or data of a block then."""
        turn = block._turn
        self._leave(turn)
        if self.turn is turn and self.passed == index and self.at == self.due:
            return
        where = f"{block._path()}.{block._PARTS[index].name}"
        if self.turn is not turn:
            missing = self._missing(block)
            actual = "a later field" if missing else "an earlier entry"
            raise SbeError(ILLEGAL_ORDER, where, missing or "the entry that was begun last", actual)
        missing = self._missing_entries(block)
        if missing:
            raise SbeError(ILLEGAL_ORDER, where, missing, "a later field")
        name = block._PARTS[self.passed].name if self.passed < len(block._PARTS) else "nothing more"
        raise SbeError(ILLEGAL_ORDER, where, name, "this one again" if index < self.passed else "a later field")

    def turn_to_entry(self, group: GroupEncoder[Any]) -> None:
        """Leave entries that are complete; raises SbeError unless an entry of that group is what comes next."""
        owner, part = group._owner, group._part
        self._leave(owner._turn)
        if self.turn is owner._turn and self.passed == group._place:
            if self.at + part.full_block_length <= self.due if part.is_flat else self.left:
                return
            raise SbeError(ILLEGAL_ORDER, group._path(), "no more entries", "the next entry")
        raise SbeError(ILLEGAL_ORDER, group._path(), self._missing(owner) or "nothing more", "the next entry")

    def missing(self, block: BlockEncoder) -> str:
        """What is still to be written in a message; empty when nothing is."""
        self._leave(None)
        return self._missing(block)

    def _leave(self, wanted: Turn | None) -> None:
        while self.turn is not wanted and self.turn is not None:
            turn = self.turn
            if self.at != self.due or self.passed != len(turn.part.encoder._PARTS):
                return
            self.turn, self.passed, self.left = turn.outer, turn.passed, turn.left
            self.due = -1 if turn.left else self.at

    def _missing(self, block: BlockEncoder) -> str:
        """What is still to be written in the innermost block; `block` is any of the message."""
        entries = self._missing_entries(block)
        if entries:
            return entries
        parts = block._message()._PARTS if self.turn is None else self.turn.part.encoder._PARTS
        path = block._message()._NAME
        path += f".{self.turn.path()}" if self.turn is not None else ""
        return f"{path}.{parts[self.passed].name}" if self.passed < len(parts) else ""

    def _missing_entries(self, block: BlockEncoder) -> str:
        if self.at == self.due:
            return ""
        parts = block._message()._PARTS if self.turn is None else self.turn.part.encoder._PARTS
        group = parts[self.passed - 1]
        count = self.left or (self.due - self.at) // max(getattr(group, "full_block_length", 0), 1)
        return f"{count} more entries"


class NoCursor(Cursor):
    """That of an encoder that wraps nothing."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0, 0)
        self.due = -1

    def turn_to(self, block: BlockEncoder, index: int) -> None:
        wanted = "wrap() or wrap_and_apply_header() first"
        raise SbeError("nothing is wrapped", f"{block._path()}.{block._PARTS[index].name}", wanted, "no buffer")

    def missing(self, block: BlockEncoder) -> str:
        raise SbeError("nothing is wrapped", block._path(), "wrap() or wrap_and_apply_header() first", "no buffer")


class BlockEncoder(Flyweight):
    """Writes a block of fields, then groups, then data in the schema's order, each once and whole: else an SbeError is raised."""

    __slots__ = ("_cursor",)
    _cursor: Cursor
    _BLOCK_LENGTH: ClassVar[int]
    _PARTS: ClassVar[tuple[DataPart | GroupPart, ...]]
    _turn: Turn | None

    def _message(self) -> BlockEncoder:
        """The encoder of the message that this is part of."""
        return self

    def _put_group(self, part: GroupPart, index: int, count: int) -> GroupEncoder[Any]:
        """Begin a group, whose place among the parts is `index`: write its dimensions."""
        if type(count) is not int:
            count = self._count_of(part, count)
        if not part.minimum <= count <= part.maximum:
            raise self._refused_count(part, count)
        cursor = self._cursor
        if cursor.passed != index or cursor.at != cursor.due or cursor.turn is not self._turn:
            cursor.turn_to(self, index)
        at = cursor.claim(part.size, self, part.name)
        part.put_dimensions(self._buffer, at, part.full_block_length, count)
        cursor.passed = index + 1
        if part.is_flat:
            cursor.due = cursor.limit = due = at + part.size + part.full_block_length * count
            if due > cursor.end:
                cursor.limit = cursor.end
        else:
            cursor.left = count
            cursor.due = -1 if count else cursor.at
        return GroupEncoder(self, part, count, index + 1)

    def _count_of(self, part: GroupPart, count: Any) -> int:
        """A count that is no int, as that of NumPy."""
        try:
            return operator.index(count)
        except TypeError:
            raise self._refused_count(part, count) from None

    def _refused_count(self, part: GroupPart, count: object) -> SbeError:
        expected = f"{part.minimum} to {part.maximum}"
        return SbeError("a group cannot have so many entries", f"{self._path()}.{part.name}", expected, shortened(count))

    def _put_data(self, part: DataPart, index: int, value: str | Buffer) -> None:
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
        cursor = self._cursor
        if cursor.passed != index or cursor.at != cursor.due or cursor.turn is not self._turn:
            cursor.turn_to(self, index)
        at = cursor.claim(part.size + len(raw), self, part.name)
        part.put_length(self._buffer, at, len(raw))
        self._buffer[at + part.size : at + part.size + len(raw)] = raw
        cursor.passed = index + 1
        cursor.due = cursor.at

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
    _turn = None

    def __init__(self) -> None:
        self._source = None
        self._cursor = NoCursor()

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
        """Where the next group or data goes, as an offset in the buffer, whether or not the message is complete."""
        return self._cursor.at

    @property
    def encoded_length(self) -> int:
        """The length of the message without a header.  Raises SbeError when a group, an entry or data is still to be written."""
        cursor = self._cursor
        if cursor.passed != len(self._PARTS) or cursor.at != cursor.due or cursor.turn is not None:
            self.sbe_check_complete()
        return cursor.at - self._offset

    def sbe_check_complete(self) -> None:
        """Raise SbeError when a group, an entry or data is still to be written."""
        missing = self._cursor.missing(self)
        if missing:
            raise SbeError("the message is not complete", self._path(), missing, "its end")

    def rewind(self) -> None:
        """Start again behind the block."""
        self._wrap(self._buffer, self._offset)


class EntryEncoder(BlockEncoder):
    """Writes one entry of a group."""

    __slots__ = ("_index", "_owner", "_turn")
    _index: int
    _owner: GroupEncoder[Any]

    def _message(self) -> BlockEncoder:
        return self._owner._owner._message()

    def _path(self) -> str:
        return f"{self._owner._path()}[{self._index}]"


EntryEncoderT = TypeVar("EntryEncoderT", bound=EntryEncoder)


class GroupEncoder(Iterator[EntryEncoderT]):
    """Gives the entries of a group, one after the other, to be written: by iteration or with `next`."""

    __slots__ = ("_count", "_index", "_owner", "_part", "_place")

    def __init__(self, owner: BlockEncoder, part: GroupPart, count: int, place: int) -> None:
        """`place` is the number of parts that the owner has begun with this group."""
        self._owner = owner
        self._part = part
        self._count = count
        self._place = place
        self._index = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> EntryEncoderT:
        owner, index, part = self._owner, self._index, self._part
        if index >= self._count:
            raise StopIteration
        cursor = owner._cursor
        if not part.is_flat:
            cursor.turn_to_entry(self)
        entry: Any = part.encoder()
        entry._owner = self
        entry._index = index
        entry._buffer = owner._buffer
        entry._cursor = cursor
        entry._offset = at = cursor.at
        end = at + part.full_block_length
        if end > cursor.limit:
            if part.is_flat:
                cursor.turn_to_entry(self)
            cursor.claim(part.full_block_length, entry, "")
        cursor.at = end
        if not part.is_flat:
            entry._turn = cursor.enter(part, index)
        self._index = index + 1
        return entry  # type: ignore[no-any-return]

    def next(self) -> EntryEncoderT:
        """The next entry; raises SbeError when all were given."""
        if self._index >= self._count:
            raise SbeError("there are no more entries to write", self._path(), f"at most {self._count}", self._index + 1)
        return next(self)

    def _path(self) -> str:
        return f"{self._owner._path()}.{self._part.name}"
