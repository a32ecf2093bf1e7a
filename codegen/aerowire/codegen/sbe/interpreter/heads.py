"""What stands in front of a message, of a group and of data: a composite some of whose numbers say how to read on.

Its other members, and padding, are no one's value; the JSON form keeps them in an object of their own where they are not what would
be written anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from aerowire.codegen.primitives import FORMATS
from aerowire.codegen.sbe.interpreter.cursor import Cursor
from aerowire.codegen.sbe.interpreter.errors import MessageError, shown
from aerowire.codegen.sbe.interpreter.json_forms import hex_of
from aerowire.codegen.sbe.interpreter.leaf import Forms, Slot, integer
from aerowire.codegen.sbe.interpreter.names import free_name
from aerowire.codegen.sbe.interpreter.section import Section, Slots
from aerowire.codegen.sbe.ir import ByteOrder, Composite, EncodedType, Member, Presence

PADDING = "_padding"
HEAD = "$header"
MISSING = object()


class Head:
    """A head with the numbers that `roles` name, in that order.  `size` bytes of the composite belong to it."""

    def __init__(self, forms: Forms, order: ByteOrder, version: int, composite: Composite, roles: Sequence[str], size: int) -> None:
        self.roles = tuple(roles)
        types = [composite.encoded(role) for role in roles]
        self._constants = [type.constant for type in types]
        self._checks = [_check(type) for type in types]
        self.size = size
        self._section = section = _HeadSection(forms, order, version)
        others = [member for member in composite.members if member.name not in roles and member.offset < size]
        for member in sorted([*others, *(composite.member(role) for role in roles)], key=lambda one: one.offset):
            if member.name not in roles:
                section.add_members(section.values, [member], 0)
            elif member.presence is not Presence.CONSTANT:
                section.add_role(member)
        section.finish(size)
        self._places = [section.places.get(role) for role in roles]
        # All roles' numbers of the slots; of a single role the number itself.
        self.numbers: Callable[[Slots], Any] = itemgetter(*self._places) if None not in self._places else self._numbers
        self._unpack = section.struct.unpack_from
        self.has_more = bool(section.values.readers or section.gaps)
        self._defaults = section.values.read(section.struct.unpack(section.struct.pack(*section.defaults)))
        self._padding = free_name(PADDING, {member.name for member in composite.members})

    def read(self, cursor: Cursor) -> Slots:
        """Take the head; returns its slots, to be given to the other methods."""
        start = cursor.position
        stop = start + self.size
        if stop > cursor.end:
            cursor.check("what stands in front", self.size)
        slots = self._unpack(cursor.buffer, start)
        cursor.position = stop
        return slots

    def _numbers(self, slots: Slots) -> Any:
        found = [self._constants[index] if place is None else slots[place] for index, place in enumerate(self._places)]
        return found[0] if len(found) == 1 else tuple(found)

    def all_values(self, slots: Slots) -> dict[str, object]:
        """Every member by name; roles first."""
        own: dict[str, object] = dict(zip(self.roles, self.numbers(slots), strict=True))
        return own | self._section.values.read(slots) if self.has_more else own

    def more(self, slots: Slots) -> dict[str, object]:
        """What is not a role and not what would be written anyway."""
        if not self.has_more:
            return {}
        found = {name: value for name, value in self._section.values.read(slots).items() if value != self._defaults.get(name, MISSING)}
        padding = {str(offset): slots[slot].hex() for offset, slot, zeros in self._section.gaps if slots[slot] != zeros}
        return found | {self._padding: padding} if padding else found

    def write(self, numbers: Sequence[int], more: Mapping[str, Any]) -> bytes:
        """The bytes of the head; `more` has what is not a role."""
        slots: list[Slot] = self._section.defaults[:]
        for number, place, check, role in zip(numbers, self._places, self._checks, self.roles, strict=True):
            try:
                checked = check(number)
            except MessageError as error:
                raise error.within(role) from None
            if place is not None:
                slots[place] = checked
        if more:
            self._write_more(more, slots)
        return self._section.struct.pack(*slots)

    def _write_more(self, more: Mapping[str, Any], slots: list[Slot]) -> None:
        values = self._section.values
        values.check_names(more, values.allowed_names | {self._padding})
        given = {name: value for name, value in more.items() if name != self._padding}
        # What is not given is as it would be without the others.
        for name, raw_name, _ in values.readers:
            if name not in given and raw_name not in given:
                given[name] = self._defaults[name]
        values.write(given, slots)
        if self._padding in more:
            fill_gaps(more[self._padding], self._section, slots, self._padding)


class _HeadSection(Section):
    """A section that also has plain numbers, and knows their slots by name."""

    def __init__(self, forms: Forms, order: ByteOrder, version: int) -> None:
        super().__init__(forms, order, version)
        self.places: dict[str, int] = {}

    def add_role(self, member: Member) -> None:
        assert isinstance(member.type, EncodedType)
        self.places[member.name] = self.slot_at(member.offset, member.size)
        self.add_slot(FORMATS[member.type.primitive.name], 0)


def _check(type: EncodedType) -> Callable[[Any], int]:
    constant = type.constant
    if constant is None:
        return integer(type.primitive.name, type.primitive.minimum, type.primitive.maximum)

    def check(number: Any) -> int:
        if number != constant:
            raise MessageError("is a constant", expected=constant, actual=shown(number))
        return int(number)

    return check


def fill_gaps(given: object, section: Section, slots: list[Slot], name: str) -> int:
    """Put the bytes of `{"offset": "hex"}` into the padding of a section; returns how many were put.  Other offsets are refused."""
    if not isinstance(given, Mapping):
        raise MessageError("is of the wrong kind", expected="an object of offsets and bytes in hex", actual=shown(given)).within(name)
    places = {str(offset): (slot, len(zeros)) for offset, slot, zeros in section.gaps}
    for offset, text in given.items():
        if offset not in places:
            there = ", ".join(places) or "none"
            raise MessageError("is no offset of padding", expected=f"one of {there}", actual=shown(offset)).within(name)
        slot, length = places[offset]
        try:
            slots[slot] = hex_of(length)(text)
        except MessageError as error:
            raise error.within(offset).within(name) from None
    return len(given)


def split_head(given: Any, roles: Sequence[str], name: str) -> tuple[dict[str, int], dict[str, Any]]:
    """Take apart what was given for a head: the numbers of its roles, and the rest."""
    if not given:
        return {}, {}
    if not isinstance(given, Mapping):
        raise MessageError("is of the wrong kind", expected="an object", actual=shown(given)).within(name)
    numbers: dict[str, int] = {}
    for role in roles:
        if role in given:
            try:
                numbers[role] = integer("a length or count", 0, (1 << 64) - 1)(given[role])
            except MessageError as error:
                raise error.within(role).within(name) from None
    return numbers, {key: value for key, value in given.items() if key not in roles}


def check_told(told: Mapping[str, int], role: str, actual: int, name: str) -> None:
    """Refuse a number that is not what the values make it."""
    if told.get(role, actual) != actual:
        raise MessageError("differs from what is there", expected=actual, actual=told[role]).within(role).within(name)
