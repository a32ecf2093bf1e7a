"""Values at fixed offsets: the fields of a block as one `struct` format, of one acting version.

Composites are part of the format of what they lie in.  What the version does not have, and what lies between the values, is padding.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Mapping
from operator import itemgetter
from typing import Any

from aerowire.codegen.problems import listed
from aerowire.codegen.sbe.interpreter.errors import MessageError, shown, shown_name
from aerowire.codegen.sbe.interpreter.leaf import Extended, Forms, Leaf, Slot, leaf_of
from aerowire.codegen.sbe.interpreter.names import free_name
from aerowire.codegen.sbe.interpreter.nulls import Null, all_null, null_of, put_nulls
from aerowire.codegen.sbe.ir import (
    ByteOrder,
    Composite,
    EncodedType,
    Enum,
    Field,
    FlagSet,
    Member,
    Number,
    Presence,
    has_null,
    size_in,
)

Slots = tuple[Slot, ...]
Reader = Callable[[Slots], object]
Writer = Callable[[Mapping[str, Any], list[Slot]], None]
RAW = "$raw"


class Values:
    """Named values side by side: the fields of a block or the members of a composite.

    `required` are the names that must be given when writing, `allowed` all that may be; `nulls` are those of a composite's members.
    """

    def __init__(self) -> None:
        self.readers: list[tuple[str, str, Reader]] = []
        self.writers: list[tuple[str, Writer]] = []
        self.names: list[str] = []
        self.required: set[str] = set()
        self.allowed: set[str] = set()
        self.nulls: list[Null] = []
        self._is_plain = False

    def freeze(self) -> None:
        """Nothing is added from here on."""
        self.allowed_names = frozenset(self.allowed)
        # The values are the slots, one for one: the usual case of a small group.
        self._is_plain = [getter(read) for _, _, read in self.readers] == list(range(len(self.readers)))

    def read(self, slots: Slots) -> dict[str, object]:
        """The values of what was unpacked."""
        if self._is_plain:
            return dict(zip(self.names, slots, strict=False))
        found: dict[str, object] = {}
        for name, raw_name, read in self.readers:
            value = read(slots)
            if value.__class__ is Extended:
                found[name] = value.value
                found[raw_name] = value.raw
            else:
                found[name] = value
        return found

    def write(self, values: Mapping[str, Any], slots: list[Slot]) -> None:
        """Put the values into what will be packed."""
        name = ""
        try:
            for name, write in self.writers:  # noqa: B007 (told in the error)
                write(values, slots)
        except MessageError as error:
            raise error.within(name) from None

    def check_names(self, values: Collection[str], allowed: frozenset[str]) -> None:
        """Refuse names that mean nothing."""
        unknown = [name for name in values if name not in allowed]
        if unknown:
            there = listed(self.names)
            raise MessageError("is not known", expected=f"one of {there}" if there else "nothing").within(shown_name(unknown[0]))


def getter(read: Reader) -> int | None:
    """The slot that a reader gives as it is; None when it does more."""
    return int(read.__reduce__()[1][0]) if isinstance(read, itemgetter) else None


class Section:
    """A `struct` format with the values in it, and the padding between them where the form keeps it.

    Invariant: the format's size is `size`.
    """

    def __init__(self, forms: Forms, order: ByteOrder, version: int) -> None:
        self.values = Values()
        self.size = 0
        self.gaps: list[tuple[int, int, bytes]] = []
        self.defaults: list[Slot] = []
        self._forms = forms
        self._order = order
        self._version = version
        self._codes: list[str] = []

    def finish(self, size: int) -> Section:
        """Close the section at `size`; the rest up to there is padding."""
        self._pad_to(size)
        self.struct = struct.Struct(self._order.struct_prefix + "".join(self._codes))
        self.values.freeze()
        assert self.struct.size == self.size
        return self

    def add_fields(self, fields: Iterable[Field]) -> None:
        """Add the fields of a block."""
        taken = {field.name for field in fields}
        for field in fields:
            if field.presence is Presence.CONSTANT:
                self._add_constant(self.values, field.name, self._constant(field))
            elif field.since_version > self._version:
                self._add_absent(self.values, field.name, field.since_version, self._absent(field.type, field.presence))
            else:
                self._add(self.values, field, field.type, field.offset, taken)

    def add_members(self, values: Values, members: Iterable[Member], base: int) -> None:
        """Add the members of a composite that starts at `base`."""
        taken = {member.name for member in members}
        for member in members:
            if member.presence is Presence.CONSTANT:
                self._add_constant(values, member.name, self._forms.constant(constant_of(member)))
            elif member.since_version > self._version:
                self._add_absent(values, member.name, member.since_version, self._absent(member.type, member.presence))
            else:
                self._add(values, member, member.type, base + member.offset, taken)

    def slot_at(self, offset: int, size: int) -> int:
        """Skip to `offset`, where `size` bytes follow; returns the index of their first slot."""
        self._pad_to(offset)
        self.size += size
        return len(self.defaults)

    def add_slot(self, code: str, default: Slot) -> None:
        """Add one slot at where `slot_at` has led."""
        self._codes.append(code)
        self.defaults.append(default)

    def _pad_to(self, offset: int) -> None:
        length = offset - self.size
        if length < 0:
            raise MessageError("the schema has values that overlap", expected=f"an offset of at least {self.size}", actual=offset)
        if not length:
            return
        if self._forms.keeps_padding:
            self.gaps.append((self.size, len(self.defaults), bytes(length)))
            self._codes.append(f"{length}s")
            self.defaults.append(b"")
        else:
            self._codes.append(f"{length}x")
        self.size = offset

    def _add(self, values: Values, one: Field | Member, type: object, offset: int, taken: Collection[str]) -> None:
        name, presence = one.name, one.presence
        if isinstance(type, Composite):
            self._add_composite(values, one, type, offset)
            return
        assert isinstance(type, EncodedType | Enum | FlagSet)
        leaf = leaf_of(self._forms, type, presence, self._order)
        raw_name = free_name(name + RAW, taken) if leaf.parse_raw else ""
        start = self.slot_at(offset, type.size)
        if values is not self.values and type.size:
            values.nulls.append(null_of(self._forms, type, self._order, start))
        self._codes.append(leaf.code)
        self.defaults.extend(_zeros(leaf) if leaf.default is None else _as_slots(leaf, leaf.default))
        values.names.append(name)
        values.allowed.update((name, raw_name) if raw_name else (name,))
        if leaf.default is None:
            values.required.add(name)
        values.readers.append((name, raw_name, _reader(leaf, start)))
        values.writers.append((name, _writer(leaf, name, raw_name, start)))

    def _add_composite(self, values: Values, one: Field | Member, type: Composite, offset: int) -> None:
        inner, name = Values(), one.name
        self._pad_to(offset)
        self.add_members(inner, type.members, offset)
        self._pad_to(offset + size_in(type, self._version))
        inner.freeze()
        values.names.append(name)
        values.allowed.add(name)
        values.nulls += inner.nulls
        is_optional = one.presence is Presence.OPTIONAL
        is_nullable = has_null(type) and (is_optional or one.since_version > 0)
        may_be_left_out = is_optional and (is_nullable or not inner.required)
        if not may_be_left_out:
            values.required.add(name)
        is_read_as_none = is_nullable and self._forms.has_null_composites
        values.readers.append((name, "", _none_if_null(inner) if is_read_as_none else inner.read))
        may_be_none = is_nullable or (may_be_left_out and not self._forms.has_null_composites)
        values.writers.append((name, _composite_writer(inner, name, may_be_left_out=may_be_left_out, may_be_none=may_be_none)))

    def _constant(self, field: Field) -> object:
        if isinstance(field.type, Enum) and isinstance(field.constant, str):
            return self._forms.constant_enum(field.type, field.constant)
        return self._forms.constant(field.constant)

    def _add_constant(self, values: Values, name: str, value: object) -> None:
        values.names.append(name)
        values.allowed.add(name)
        values.readers.append((name, "", lambda _slots: value))
        values.writers.append((name, _fixed_writer(name, value, "is a constant", f"{value!r}")))

    def _add_absent(self, values: Values, name: str, since: int, absent: object) -> None:
        values.names.append(name)
        values.allowed.add(name)
        told = f"no value (it is there from version {since} on, the message has version {self._version})"
        # A fresh one each time: what is read is the caller's.
        is_shared = not isinstance(absent, list | dict)
        values.readers.append((name, "", (lambda _slots: absent) if is_shared else (lambda _slots: _copy(absent))))
        values.writers.append((name, _fixed_writer(name, absent, "is not part of this version", told)))

    def _absent(self, type: object, presence: Presence) -> object:
        if isinstance(type, Composite):
            members = {}
            for member in type.members:
                if member.presence is Presence.CONSTANT:
                    members[member.name] = self._forms.constant(constant_of(member))
                else:
                    members[member.name] = self._absent(member.type, member.presence)
            return self._forms.absent_composite(members)
        assert isinstance(type, EncodedType | Enum | FlagSet)
        return leaf_of(self._forms, type, presence, self._order).absent


def constant_of(member: Member) -> Number | str | None:
    """The value of a constant; an enum within a composite cannot say which of its values it is."""
    return member.type.constant if isinstance(member.type, EncodedType) else None


def _reader(leaf: Leaf, start: int) -> Reader:
    decode = leaf.decode
    if leaf.slots != 1:
        assert decode is not None
        stop = start + leaf.slots
        return lambda slots: decode(slots[start:stop])
    if decode is None:
        return itemgetter(start)
    return lambda slots: decode(slots[start])


def _writer(leaf: Leaf, name: str, raw_name: str, start: int) -> Writer:
    stop, is_row, encode, parse_raw = start + leaf.slots, leaf.slots != 1, leaf.encode, leaf.parse_raw
    is_optional = leaf.default is not None

    def write(values: Mapping[str, Any], slots: list[Slot]) -> None:
        value = values.get(name)
        if parse_raw is not None and raw_name in values:
            slot = parse_raw(values[raw_name])
            if name in values:
                _check_agreement(leaf, slot, value, raw_name)
        elif value is None:
            if is_optional:
                return  # the default is there
            raise MessageError("is missing" if name not in values else "cannot be null", expected="a value")
        else:
            slot = encode(value)
        if is_row:
            slots[start:stop] = slot
        else:
            slots[start] = slot

    return write


def _check_agreement(leaf: Leaf, slot: Slot, value: object, raw_name: str) -> None:
    read = slot if leaf.decode is None else leaf.decode(slot)
    plain = read.value if isinstance(read, Extended) else read
    if plain != value:
        raise MessageError(f"differs from {shown_name(raw_name)}", expected=shown(plain), actual=shown(value))


def _none_if_null(inner: Values) -> Reader:
    return lambda slots: None if all_null(inner.nulls, slots) else inner.read(slots)


def _composite_writer(inner: Values, name: str, *, may_be_left_out: bool, may_be_none: bool) -> Writer:
    allowed = frozenset(inner.allowed)

    def write(values: Mapping[str, Any], slots: list[Slot]) -> None:
        value = values.get(name)
        if value is None:
            if may_be_none if name in values else may_be_left_out:
                put_nulls(inner.nulls, slots)
                return
            raise MessageError("is missing" if name not in values else "cannot be null", expected="an object")
        if value.__class__ is not dict and not isinstance(value, Mapping):
            raise MessageError("is of the wrong kind", expected="an object", actual=shown(value))
        if not value.keys() <= allowed:
            inner.check_names(value, allowed)
        inner.write(value, slots)

    return write


def _fixed_writer(name: str, fixed: object, what: str, told: str) -> Writer:
    def write(values: Mapping[str, Any], _slots: list[Slot]) -> None:
        given = values.get(name)
        if given is not None and (given != fixed or isinstance(given, bool)) and not _means(given, fixed):
            raise MessageError(what, expected=told, actual=shown(given))

    return write


def _means(given: object, fixed: object) -> bool:
    """Whether it is what is fixed in another form: a text with the NULs behind it, as the official printer has it, or the name of an
    enum's value; or an object of such, or of nulls."""
    if isinstance(given, str):
        return given.rstrip("\0") == fixed or given == getattr(fixed, "name", None)
    if not isinstance(given, Mapping):
        return False
    within = fixed if isinstance(fixed, Mapping) else {}
    return all(one is None or one == within.get(name) or _means(one, within.get(name)) for name, one in given.items())


def _zeros(leaf: Leaf) -> list[Slot]:
    if leaf.slots == 0:
        return []
    one: Slot = b"\0" if leaf.code == "c" else b"" if leaf.code.endswith("s") else 0
    return [one] * leaf.slots


def _as_slots(leaf: Leaf, default: Slot) -> list[Slot]:
    return [default] if leaf.slots == 1 else list(default)


def _copy(value: object) -> object:
    if isinstance(value, dict):
        return {name: _copy(one) for name, one in value.items()}
    return list(value) if isinstance(value, list) else value
