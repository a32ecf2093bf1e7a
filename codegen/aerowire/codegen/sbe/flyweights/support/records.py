"""Data classes: to and from plain values, and member by member to and from bytes where the quick way does not apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from .errors import SbeError, check_room, refused, shortened, view_of
from .flyweight import Flyweight
from .reading import GroupDecoder
from .writing import TOO_SMALL, MessageEncoder

if TYPE_CHECKING:
    from typing_extensions import Buffer


def plain(value: Any) -> Any:
    """A member's value with records as dicts."""
    if isinstance(value, Record):
        return value.to_dict()
    return [plain(one) for one in value] if isinstance(value, list) else value


class Record:
    """What the data classes share.  `_MEMBERS` has each member with its record class, or None for a plain value."""

    __slots__ = ()
    _MEMBERS: ClassVar[dict[str, Any]]
    _CONSTANTS: ClassVar[tuple[str, ...]]
    _NULLS: ClassVar[tuple[tuple[str, Any], ...]]

    def to_dict(self) -> dict[str, Any]:
        """Every member by its Python name; composites are dicts and groups lists of them."""
        return {name: plain(getattr(self, name)) for name in self._MEMBERS}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The record that `to_dict` made these values from; constants need not be there.  Raises SbeError."""
        made: Self = record_from_dict(cls, values, cls.__name__)
        return made


RecordT = TypeVar("RecordT", bound=Record)


def record_from_dict(kind: Any, values: Any, where: str) -> Any:
    """A record of a class, compiled or not; `where` is its place for errors, in Python's names."""
    if not isinstance(values, Mapping):
        raise SbeError("the value is no record", where, f"a dict with {', '.join(kind._MEMBERS) or 'nothing'}", shortened(values))
    superfluous = [str(name) for name in values if name not in kind._MEMBERS]
    if superfluous:
        raise SbeError("there are no such members", where, ", ".join(kind._MEMBERS), ", ".join(superfluous))
    made: dict[str, Any] = {}
    for name, inner in kind._MEMBERS.items():
        if name in kind._CONSTANTS:
            continue
        field = kind.__dataclass_fields__[name]
        if name not in values:
            if field.default is MISSING and field.default_factory is MISSING:
                raise SbeError("a member is missing", where, name, ", ".join(values) or "nothing")
            continue
        value = values[name]
        # The entries of a group have a list by default, composites never.
        if field.default_factory is list:
            if not isinstance(value, list | tuple):
                raise SbeError("the value is no group", f"{where}.{name}", "a list of dicts", shortened(value))
            made[name] = [record_from_dict(inner, one, f"{where}.{name}[{index}]") for index, one in enumerate(value)]
        else:
            made[name] = value if inner is None or value is None else record_from_dict(inner, value, f"{where}.{name}")
    return kind(**made)


def read_record(kind: type[RecordT], source: Flyweight) -> RecordT:
    """Fill a record of a class, compiled or not, from a decoder, member by member."""
    made = kind.__new__(kind)
    for name, inner in kind._MEMBERS.items():
        if name in kind._CONSTANTS:
            continue
        value = source._value(name)
        if isinstance(value, memoryview):
            value = bytes(value)
        elif inner is not None and value is not None:
            value = [read_record(inner, one) for one in value] if isinstance(value, GroupDecoder) else read_record(inner, value)
        setattr(made, name, value)
    return made


def write_record(record: Any, target: Any) -> None:
    """Write a record with an encoder, member by member."""
    for name in record._MEMBERS:
        if name in record._CONSTANTS:
            continue
        value, kind = getattr(record, name), record._MEMBERS[name]
        # A group is begun by a method, everything else is a property.
        if kind is None or not callable(getattr(type(target), name)):
            setattr(target, name, value)
            continue
        if not isinstance(value, list | tuple) or not all(isinstance(one, kind) for one in value):
            raise refused(target, name, f"a list of {kind.__name__}", value)
        group = getattr(target, name)(len(value))
        for one in value:
            write_record(one, group.next())


def put(record: Any, kind: type[Record], target: Any, owner: Flyweight, name: str) -> None:
    """Write the record of a composite with its encoder; `name` is what its owner calls it."""
    if not isinstance(record, kind):
        raise refused(owner, name, f"a {kind.__name__}", record)
    there = slice(target._offset, target._offset + target.ENCODED_LENGTH)
    kept = bytes(target._buffer[there])
    try:
        write_record(record, target)
    except SbeError as error:
        target._buffer[there] = kept  # a refused value changes nothing
        where = f"{owner._path()}.{name}{error.where.removeprefix(target._NAME)}"
        raise SbeError(error.what, where, error.expected, error.actual) from None


def encode_record(record: Any, encoder: type[MessageEncoder]) -> bytes:
    """The bytes of a message, written member by member, so that an error says where."""
    size = 1 << 12
    while True:
        buffer = bytearray(size)
        target = encoder().wrap_and_apply_header(buffer) if size > encoder.SBE_BLOCK_LENGTH + encoder._HEADER.size else None
        try:
            if target is not None:
                write_record(record, target)
                return bytes(buffer[: target.sbe_limit])
        except SbeError as error:
            if error.what != TOO_SMALL:
                raise
        size *= 4


def put_bytes(data: bytes, buffer: Buffer, offset: int, where: str) -> int:
    """Put a message into a buffer; returns its length."""
    view = view_of(buffer, where, is_written=True)
    check_room(where, view, offset, len(data))
    view[offset : offset + len(data)] = data
    return len(data)
