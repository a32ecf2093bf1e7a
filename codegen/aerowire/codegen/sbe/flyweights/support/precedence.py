"""Checks that groups and data are read in the schema's order, each once and whole, as decoders of other implementations need it.

Decoders of this package find everything in any order; with the environment variable AEROWIRE_SBE_PRECEDENCE_CHECKS set to 1 at
import, "fields in illegal order" is an SbeError.  Encoders always check the order (see `writing`).
"""

from __future__ import annotations

from typing import Any

from . import reading
from .errors import SbeError
from .parts import GroupPart
from .text import MARKED


class BlockOrder:
    """What of a block was read: the number of parts, and the group that was begun last."""

    __slots__ = ("group", "is_shown", "passed", "places")

    def __init__(self, block: Any, *, is_shown: bool = False) -> None:
        """What is only shown may be read in any order."""
        self.places = _places_of(block)
        self.is_shown = is_shown
        self.passed = 0
        self.group: GroupOrder | None = None


class GroupOrder:
    """How many entries of a group were begun, and which one is the last."""

    __slots__ = ("begun", "count", "entry")

    def __init__(self, count: int) -> None:
        self.count = count
        self.begun = 0
        self.entry: Any = None


def _places_of(block: Any) -> Any:
    """Where its parts are: what is another object when the block is wrapped or rewound."""
    return getattr(block, "_marks", None)


def _order_of(block: Any) -> BlockOrder:
    if not hasattr(block, "_order") or block._order.places is not _places_of(block):
        block._order = BlockOrder(block)
    order: BlockOrder = block._order
    return order


def _missing(block: Any) -> str:
    """What is still to be read in a block; empty when nothing is."""
    order = _order_of(block)
    inner = _missing_entries(order.group) if order.group is not None else ""
    if inner:
        return inner
    version = getattr(block, "_acting_version", None)
    left = [part for part in block._PARTS[order.passed :] if version is None or part.since_version <= version]
    return f"{block._path()}.{left[0].name}" if left else ""


def _missing_entries(group: GroupOrder) -> str:
    inner = _missing(group.entry) if group.entry is not None else ""
    if not inner and group.begun < group.count:
        return f"{group.count - group.begun} more entries"
    return inner


def _pass(block: Any, index: int) -> BlockOrder:
    """A part is asked for: everything before must be done, and it itself not yet."""
    order = _order_of(block)
    if order.is_shown:
        return order
    where = f"{block._path()}.{block._PARTS[index].name}"
    owner = getattr(block, "_owner", None)
    if owner is not None and getattr(owner, "_order", None) is not None and owner._order.entry is not block:
        raise SbeError("fields in illegal order", where, "the entry that was begun last", "an earlier one")
    inner = _missing_entries(order.group) if order.group is not None else ""
    if inner:
        raise SbeError("fields in illegal order", where, inner, "a later field")
    version = getattr(block, "_acting_version", None)
    if version is not None and block._PARTS[index].since_version > version:
        return order
    expected = order.passed
    while version is not None and expected < index and block._PARTS[expected].since_version > version:
        expected += 1
    if index != expected:
        name = block._PARTS[expected].name if expected < len(block._PARTS) else "nothing more"
        raise SbeError("fields in illegal order", where, name, "this one again" if index < expected else "a later field")
    order.passed = index + 1
    order.group = None
    return order


def _begin(group: Any, entry: Any, index: int) -> None:
    order: GroupOrder = group._order
    inner = _missing(order.entry) if order.entry is not None else ""
    if inner:
        raise SbeError("fields in illegal order", entry._path(), inner, "the next entry")
    if index != order.begun:
        raise SbeError("fields in illegal order", entry._path(), f"entry {order.begun}", index)
    order.begun += 1
    order.entry = entry


def _check_properties(kind: Any) -> None:
    """A decoder's groups and data are read by the methods that check; what its properties have of their own knows no order."""
    parts = kind.__dict__.get("_PARTS") or ()
    for index, (name, part) in enumerate(zip(kind._MEMBERS[len(kind._MEMBERS) - len(parts) :], parts, strict=True)):
        setattr(kind, name, property(_reader(part, index), doc=getattr(kind, name).__doc__))


def _reader(part: Any, index: int) -> Any:
    if isinstance(part, GroupPart):
        return lambda block: block._group(part, index)
    if part.encoding in MARKED:
        return lambda block: block._marked_text(part, index)
    if part.encoding:
        return lambda block: block._text(part, index)
    return lambda block: block._data(part, index)


def _decoder_group(block: Any, part: Any, index: int) -> Any:
    order = _pass(block, index)
    group = reading.open_group(part, block, block._start_of(index))
    group._order = order.group = None if order.is_shown else GroupOrder(len(group))
    return group


def _checked_read(plain_read: Any) -> Any:
    def read(block: Any, part: Any, index: int) -> Any:
        _pass(block, index)
        return plain_read(block, part, index)

    return read


def _decoder_entries(group: Any) -> Any:
    for index in range(len(group)):
        yield _decoder_entry(group, index)


def _decoder_entry(group: Any, index: int) -> Any:
    entry = group._entry(index, group._start_of(index))
    if getattr(group, "_order", None) is not None:
        _begin(group, entry, index)
    return entry


def _decoder_item(group: Any, index: Any) -> Any:
    count = len(group)
    if isinstance(index, slice):
        return [_decoder_entry(group, one) for one in range(*index.indices(count))]
    if not -count <= index < count:
        raise IndexError(f"{group._path()} has {count} entries; there is no {index}")
    return _decoder_entry(group, index % count)


def _decoder_group_repr(group: Any) -> str:
    """Shows all entries, which counts as reading none."""
    kept = getattr(group, "_order", None)
    group._order = None
    try:
        return repr(list(group))
    finally:
        group._order = kept


def _unnoticed(plain_method: Any) -> Any:
    """Shows all members of a block, which counts as reading none."""

    def method(block: Any) -> Any:
        kept = getattr(block, "_order", None)
        block._order = BlockOrder(block, is_shown=True)
        try:
            return plain_method(block)
        finally:
            block._order = kept or BlockOrder(block)

    return method


def install() -> None:
    """Put the checks into the classes that generated code inherits from."""
    changes: list[tuple[type, dict[str, Any]]] = [
        (
            reading.BlockDecoder,
            {
                "__init_subclass__": classmethod(_check_properties),
                "_group": _decoder_group,
                "_data": _checked_read(reading.BlockDecoder._data),
                "to_dict": _unnoticed(reading.BlockDecoder.to_dict),
                "__repr__": _unnoticed(reading.BlockDecoder.__repr__),
            },
        ),
        (reading.FlatGroupDecoder, {"__iter__": _decoder_entries}),
        (reading.GroupDecoder, {"__iter__": _decoder_entries, "__getitem__": _decoder_item, "__repr__": _decoder_group_repr}),
    ]
    for kind, methods in changes:
        for name, method in methods.items():
            setattr(kind, name, method)
