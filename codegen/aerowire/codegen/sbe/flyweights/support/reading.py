"""Decoders: they read from any buffer without copying it, in any order, with every length checked before it is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, overload

from .errors import SbeError, check_room, new, view_of
from .flyweight import Flyweight
from .parts import DataPart, GroupPart, Numbers
from .text import marked_text_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAX_EMPTY_ENTRIES = 65_535  # entries of a message that take no bytes: nothing in the buffer limits their count


class CompositeDecoder(Flyweight):
    """Values side by side."""

    __slots__ = ("_acting_version",)
    _acting_version: int
    ENCODED_LENGTH: ClassVar[int]
    SBE_SCHEMA_VERSION: ClassVar[int]
    _NULLS: ClassVar[tuple[tuple[str, Any], ...]]

    def wrap(self, buffer: Buffer, offset: int = 0, acting_version: int | None = None) -> Self:
        """Read from `offset` on; returns itself."""
        view = view_of(buffer, self._NAME)
        check_room(self._NAME, view, offset, self.ENCODED_LENGTH)
        return self._at(view, offset, self.SBE_SCHEMA_VERSION if acting_version is None else acting_version)

    def _at(self, view: memoryview, offset: int, acting_version: int) -> Self:
        self._buffer = view
        self._offset = offset
        self._acting_version = acting_version
        return self


class BlockDecoder(Flyweight):
    """A block of fields, then groups, then data.  Where each part starts is found once and kept."""

    __slots__ = ("_acting_version", "_marks", "_order")
    _acting_version: int
    _marks: list[int]
    _order: Any
    _BLOCK_LENGTH: ClassVar[int]
    _LEAST: ClassVar[tuple[tuple[int, int], ...]]
    _PARTS: ClassVar[tuple[DataPart | GroupPart, ...]]

    @property
    def acting_version(self) -> int:
        return self._acting_version

    @classmethod
    def _least_block_length(cls, version: int) -> int:
        """Bytes that a block of a version must at least have."""
        return max([0, *(end for since, end in cls._LEAST if since <= version)])

    @classmethod
    def _least_parts_length(cls, version: int) -> int:
        """Bytes that the groups and data of a version take up when all are empty."""
        return sum([part.size for part in cls._PARTS if part.since_version <= version])

    def _start_of(self, index: int) -> int:
        """Where a part starts, or with the number of parts, where the block with all its parts ends."""
        marks = self._marks
        while len(marks) <= index:
            marks.append(part_end(self._PARTS[len(marks) - 1], self, marks[-1]))
        return marks[index]

    def _group(self, part: GroupPart, index: int) -> GroupDecoder[Any]:
        """The group that is part `index`, with every check; what a property has of its own is for the usual case."""
        return open_group(part, self, self._start_of(index))

    def _data(self, part: DataPart, index: int) -> memoryview:
        """The bytes that are part `index`, likewise."""
        start, end = data_extent(part, self, self._start_of(index))
        return self._buffer[start:end]

    def _text(self, part: DataPart, index: int) -> str:
        try:
            return str(self._data(part, index), part.encoding, part.errors)
        except UnicodeError as error:
            raise SbeError("the bytes are no text", f"{self._path()}.{part.name}", part.encoding, error) from None

    def _marked_text(self, part: DataPart, index: int) -> str:
        try:
            return marked_text_of(self._data(part, index), part.encoding)
        except UnicodeError as error:
            raise SbeError("the bytes are no text", f"{self._path()}.{part.name}", part.encoding, error) from None

    def sbe_raw(self, name: str) -> memoryview:
        """The bytes of data, by the schema's name, whatever characters they are."""
        for index, part in enumerate(self._PARTS):
            if part.name == name and isinstance(part, DataPart):
                start, end = data_extent(part, self, self._start_of(index))
                return self._buffer[start:end]
        raise KeyError(f"{self._NAME} has no data {name!r}")

    def rewind(self) -> None:
        """Forget where groups and data start, as when the bytes have changed."""
        self._marks = self._marks[:1]

    @property
    def encoded_length(self) -> int:
        """Bytes of the block with all its groups and data, without a header."""
        return self._start_of(len(self._PARTS)) - self._offset

    def sbe_skip(self) -> int:
        """Walk over all groups and data; returns the offset in the buffer where they end."""
        return self._start_of(len(self._PARTS))


class MessageDecoder(BlockDecoder):
    """Reads a message.  The buffer must not be resized while it is wrapped.

    The groups and entries that came out of a decoder belong to it: one that is kept while its decoder is wrapped again reads the new
    buffer, at the places that it had in the old one.
    """

    __slots__ = ("_acting_block_length", "_empties", "_source")
    _acting_block_length: int
    _empties: EmptyEntries
    _source: Buffer | None
    SBE_TEMPLATE_ID: ClassVar[int]
    SBE_SCHEMA_ID: ClassVar[int]
    SBE_SCHEMA_VERSION: ClassVar[int]
    SBE_BLOCK_LENGTH: ClassVar[int]
    _HEADER: ClassVar[Numbers]

    def __init__(self) -> None:
        self._source = None

    def wrap(self, buffer: Buffer, offset: int = 0, acting_block_length: int | None = None, acting_version: int | None = None) -> Self:
        """Read the message whose block starts at `offset`, as long and as old as said (default: as the schema); returns itself."""
        length = self.SBE_BLOCK_LENGTH if acting_block_length is None else acting_block_length
        version = self.SBE_SCHEMA_VERSION if acting_version is None else acting_version
        return self._wrap(view_of(buffer, self._NAME), offset, length, version)

    def _wrap(self, view: memoryview, offset: int, block_length: int, version: int) -> Self:
        # A signed number in the header has turned over: newer than all that the schema knows.
        if version < 0:
            version = self.SBE_SCHEMA_VERSION
        if block_length < self.SBE_BLOCK_LENGTH and block_length < self._least_block_length(version):
            raise SbeError("the block is too short", self._NAME, f"at least {self._least_block_length(version)}", block_length)
        end = offset + block_length
        if offset < 0 or end > len(view):
            check_room(self._NAME, view, offset, block_length)
        self._source = None
        self._buffer = view
        self._offset = offset
        self._acting_block_length = block_length
        self._acting_version = version
        self._marks = [end]
        return self

    def wrap_and_apply_header(self, buffer: Buffer, offset: int = 0) -> Self:
        """Read the message whose header starts at `offset`; returns itself.  Raises SbeError when it is another message."""
        return self._wrap_with_header(view_of(buffer, self._NAME), offset)

    def _wrap_with_header(self, view: memoryview, offset: int) -> Self:
        """The same with every check; what a message has of its own is for the usual case."""
        header = self._HEADER
        check_room(f"{self._NAME}: header", view, offset, header.size)
        block_length, template_id, schema_id, version = header.unpack(view, offset)
        if template_id != self.SBE_TEMPLATE_ID:
            raise SbeError("this is another message", self._NAME, f"template id {self.SBE_TEMPLATE_ID}", template_id)
        if schema_id != self.SBE_SCHEMA_ID:
            raise SbeError("this is a message of another schema", self._NAME, f"schema id {self.SBE_SCHEMA_ID}", schema_id)
        return self._wrap(view, offset + header.size, block_length, version)

    @property
    def acting_block_length(self) -> int:
        return self._acting_block_length

    @property
    def sbe_decoded_length(self) -> int:
        """Bytes of the message as it is in the buffer, without a header."""
        return self.encoded_length


class EntryDecoder(BlockDecoder):
    """One entry of a group."""

    __slots__ = ("_index", "_owner")
    _index: int
    _owner: GroupDecoder[Any]

    def _path(self) -> str:
        group = self._owner
        index = (self._offset - group._start) // max(group._block_length, 1) if group._part.is_flat else self._index
        return f"{group._path()}[{index}]"

    @property
    def acting_block_length(self) -> int:
        return self._owner._block_length

    def _start_of(self, index: int) -> int:
        if not self._PARTS:
            return self._offset + self._owner._block_length
        return super()._start_of(index)

    def rewind(self) -> None:
        if self._PARTS:
            super().rewind()


EntryT = TypeVar("EntryT", bound=EntryDecoder)


class GroupDecoder(Sequence[EntryT]):
    """The entries of a group, as a sequence.  An entry that is not of a fixed size is found by walking there, once."""

    __slots__ = ("_block_length", "_count", "_order", "_owner", "_part", "_start", "_starts")
    _block_length: int
    _count: int
    _order: Any
    _owner: BlockDecoder
    _part: GroupPart
    _start: int
    _starts: list[int] | None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[EntryT]:
        parts = len(self._part.decoder._PARTS)
        at = self._start
        for index in range(self._count):
            entry = self._entry(index, at)
            yield entry
            at = entry._start_of(parts)

    @overload
    def __getitem__(self, index: int) -> EntryT: ...
    @overload
    def __getitem__(self, index: slice) -> list[EntryT]: ...
    def __getitem__(self, index: int | slice) -> EntryT | list[EntryT]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(f"{self._path()} has {self._count} entries; there is no {index}")
        index %= self._count
        return self._entry(index, self._start_of(index))

    def _entry(self, index: int, at: int) -> EntryT:
        view = self._owner._buffer
        if at + self._block_length > len(view):
            check_room(f"{self._path()}[{index}]", view, at, self._block_length)
        entry: Any = new(self._part.decoder)
        entry._buffer = view
        entry._offset = at
        entry._acting_version = self._owner._acting_version
        entry._marks = [at + self._block_length]
        entry._owner = self
        entry._index = index
        return entry  # type: ignore[no-any-return]

    def _start_of(self, index: int) -> int:
        """Where an entry starts, or with their count, where the last one ends."""
        if self._starts is None:
            self._starts = [self._start]
        starts, parts = self._starts, len(self._part.decoder._PARTS)
        while len(starts) <= index:
            starts.append(self._entry(len(starts) - 1, starts[-1])._start_of(parts))
        return starts[index]

    def _end(self) -> int:
        return self._start_of(self._count)

    def _path(self) -> str:
        return f"{self._owner._path()}.{self._part.name}"

    def __repr__(self) -> str:
        return repr(list(self))


class FlatGroupDecoder(GroupDecoder[EntryT]):
    """The same where no entry has groups or data of its own, so that all are of one size."""

    __slots__ = ()

    def __iter__(self) -> Iterator[EntryT]:
        at, block_length = self._start, self._block_length
        if not block_length:
            yield from map(self._entry, range(self._count), repeat(at))
            return
        view, version = self._owner._buffer, self._owner._acting_version
        decoder: Any = self._part.decoder
        end = at + self._count * block_length
        while at < end:
            entry = decoder()
            entry._buffer = view
            entry._offset = at
            entry._acting_version = version
            entry._owner = self
            yield entry
            at += block_length

    def _start_of(self, index: int) -> int:
        return self._start + index * self._block_length


def data_extent(part: DataPart, block: BlockDecoder, at: int) -> tuple[int, int]:
    """Where the bytes start and end, for data whose length starts at `at`."""
    if block._acting_version < part.since_version:
        return at, at
    start = at + part.size
    available = len(block._buffer) - start
    if available < 0:
        raise SbeError("too few bytes for the length of data", f"{block._path()}.{part.name}", part.size, available + part.size)
    length: int = part.length(block._buffer, at)[0]
    if not 0 <= length <= available:
        raise SbeError("data does not fit the buffer", f"{block._path()}.{part.name}", f"at most {available} bytes", length)
    return start, start + length


def open_group(part: GroupPart, block: BlockDecoder, at: int) -> GroupDecoder[Any]:
    """The entries of the group whose dimensions start at `at`."""
    view = block._buffer
    if block._acting_version < part.since_version:
        return _entries(block, part, at, part.decoder._BLOCK_LENGTH, 0)
    start = at + part.size
    available = len(view) - start
    if available < 0:
        where = f"{block._path()}.{part.name}"
        raise SbeError("too few bytes for the dimensions of a group", where, part.size, available + part.size)
    block_length, count = part.dimensions(view, at)
    if count:
        least = part.decoder._least_block_length(block._acting_version)
        if block_length < least:
            raise SbeError("the block of a group is too short", f"{block._path()}.{part.name}", f"at least {least}", block_length)
        entry = block_length + part.decoder._least_parts_length(block._acting_version)
        if count < 0 or count * entry > available:
            where = f"{block._path()}.{part.name}"
            raise SbeError("the entries do not fit the buffer", where, f"at most {available} bytes", f"{count} entries of {entry}")
        if entry == 0:
            take_empty(part, block, at, count)
    return _entries(block, part, start, block_length, count)


class EmptyEntries:
    """The entries without bytes of a message: how many each group has, by where the group starts."""

    __slots__ = ("counts", "marks", "total")

    def __init__(self, marks: list[int]) -> None:
        """`marks` are those of the message, which are others when it is wrapped again."""
        self.marks = marks
        self.counts: dict[int, int] = {}
        self.total = 0


def take_empty(part: GroupPart, block: BlockDecoder, at: int, count: int) -> None:
    """Count the entries of a group that take no bytes, once however often it is read; raise SbeError when its message has too many."""
    message: Any = block
    while isinstance(message, EntryDecoder):
        message = message._owner._owner
    empties: EmptyEntries | None = getattr(message, "_empties", None)
    if empties is None or empties.marks is not message._marks:
        empties = message._empties = EmptyEntries(message._marks)
    total = empties.total + count - empties.counts.get(at, 0)
    if total > MAX_EMPTY_ENTRIES:
        where = f"{block._path()}.{part.name}"
        raise SbeError("too many entries without bytes", where, f"at most {MAX_EMPTY_ENTRIES} in a message", total)
    empties.counts[at] = count
    empties.total = total


def _entries(owner: BlockDecoder, part: GroupPart, start: int, block_length: int, count: int) -> GroupDecoder[Any]:
    group: GroupDecoder[Any] = FlatGroupDecoder() if part.is_flat else GroupDecoder()
    group._owner = owner
    group._part = part
    group._start = start
    group._block_length = block_length
    group._count = count
    group._starts = None
    return group


def part_end(part: DataPart | GroupPart, block: BlockDecoder, at: int) -> int:
    """Where a part ends that starts at `at`."""
    return data_extent(part, block, at)[1] if isinstance(part, DataPart) else open_group(part, block, at)._end()
