"""A block compiled for one acting version: how its entries are read, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aerowire.codegen.problems import listed
from aerowire.codegen.sbe.interpreter.cursor import Cursor
from aerowire.codegen.sbe.interpreter.data_plan import DataPlan
from aerowire.codegen.sbe.interpreter.errors import MessageError, shown, shown_name
from aerowire.codegen.sbe.interpreter.heads import HEAD, PADDING, Head, check_told, fill_gaps, split_head
from aerowire.codegen.sbe.interpreter.json_forms import hex_of
from aerowire.codegen.sbe.interpreter.leaf import Forms, Slot
from aerowire.codegen.sbe.interpreter.names import free_name
from aerowire.codegen.sbe.interpreter.section import Section
from aerowire.codegen.sbe.ir import Block, ByteOrder, Composite, EncodedType, Group, Type

# A message beyond this is refused when written: a length in a text must not fill the memory.
MESSAGE_LENGTH_MAX = 1 << 26


class BlockPlan:
    """Fields, then groups, then data, of one acting version.  Invariant: `size` is the least length of the block in that version."""

    def __init__(self, forms: Forms, order: ByteOrder, version: int, block: Block) -> None:
        self.name = block.name
        self.default_length = block.block_length
        self.fields = block.fields
        self.size = block.least_block_length(version)
        self._section = section = Section(forms, order, version)
        section.add_fields(block.fields)
        section.finish(self.size)
        names = {one.name for one in (*block.fields, *block.groups, *block.data)}
        self.groups = [GroupPlan(forms, order, version, group, names) for group in block.groups]
        self.data = [DataPlan(forms, order, version, data, names) for data in block.data]
        self._parts: list[GroupPlan | DataPlan] = [*self.groups, *self.data]
        self._padding = free_name(PADDING, names) if forms.keeps_padding else ""
        self.required = section.values.required | {part.name for part in self._parts if part.is_present}
        self.names = (*section.values.names, *(part.name for part in self._parts))
        self.extra_names = (section.values.allowed - set(section.values.names)).union(*(part.extra_names for part in self._parts))
        if self._padding:
            self.extra_names.add(self._padding)
        self.allowed = frozenset(names | self.extra_names)
        # What the smallest groups and data behind the block take.
        self.least_rest = sum(part.head.size for part in self._parts if part.is_present)
        self._unpack = section.struct.unpack_from
        self._read_values = section.values.read

    def read(self, cursor: Cursor, block_length: int) -> dict[str, object]:
        """Read an entry whose block has that length."""
        start = cursor.position
        if block_length < self.size:
            raise MessageError(
                "the block is too short for its version", expected=f"at least {self.size} bytes", actual=block_length, offset=start
            )
        end = start + block_length
        if end > cursor.end:
            cursor.check("the block", block_length)
        slots = self._unpack(cursor.buffer, start)
        values = self._read_values(slots)
        cursor.position = end
        for part in self._parts:
            part.read(cursor, values)
        if self._padding and (self._section.gaps or block_length != self.size):
            padding = self._padding_of(cursor.buffer, slots, start, end)
            if padding:
                values[self._padding] = padding
        return values

    def _padding_of(self, buffer: memoryview, slots: tuple[Slot, ...], start: int, end: int) -> dict[str, str]:
        padding = {str(offset): slots[slot].hex() for offset, slot, zeros in self._section.gaps if slots[slot] != zeros}
        if end - start > self.size:
            tail = bytes(buffer[start + self.size : end])
            if tail.count(0) != len(tail):
                padding[str(self.size)] = tail.hex()
        return padding

    def read_flat(self, cursor: Cursor, block_length: int, count: int) -> list[dict[str, object]] | None:
        """Read entries that are nothing but their values, without gaps; None when these are not like that."""
        if self._parts or self._section.gaps or not self.size or block_length != self.size:
            return None
        start = cursor.position
        cursor.position = start + count * block_length
        read = self._read_values
        return [read(slots) for slots in self._section.struct.iter_unpack(cursor.buffer[start : cursor.position])]

    def write(self, values: Mapping[str, Any], block_length: int, out: bytearray) -> None:
        """Append an entry whose block has that length."""
        if values.__class__ is not dict and not isinstance(values, Mapping):
            raise MessageError("is of the wrong kind", expected="an object", actual=shown(values))
        if not values.keys() <= self.allowed:
            unknown = next(name for name in values if name not in self.allowed)
            raise MessageError("is not known", expected=f"one of {listed(self.names)}" if self.names else "nothing").within(
                shown_name(unknown)
            )
        if block_length < self.size:
            raise MessageError("the block is too short for its version", expected=f"at least {self.size} bytes", actual=block_length)
        if len(out) + block_length > MESSAGE_LENGTH_MAX:
            raise MessageError("the message is too long", expected=f"at most {MESSAGE_LENGTH_MAX} bytes", actual=len(out) + block_length)
        section = self._section
        slots = list(section.defaults)
        section.values.write(values, slots)
        tail = bytes(block_length - self.size)
        if self._padding and self._padding in values:
            tail = self._write_padding(values[self._padding], slots, tail)
        out += section.struct.pack(*slots)
        out += tail
        for part in self._parts:
            part.write(values, out)

    def _write_padding(self, given: Any, slots: list[Slot], tail: bytes) -> bytes:
        name, key = self._padding, str(self.size)
        if isinstance(given, Mapping) and tail and key in given:
            try:
                tail = hex_of(len(tail))(given[key])
            except MessageError as error:
                raise error.within(key).within(name) from None
            given = {offset: text for offset, text in given.items() if offset != key}
        fill_gaps(given, self._section, slots, name)
        return tail


class GroupPlan:
    """A group of one acting version; what the version does not have reads as no entries."""

    def __init__(self, forms: Forms, order: ByteOrder, version: int, group: Group, taken: set[str]) -> None:
        self.name = group.name
        self.is_present = group.since_version <= version
        self.since_version, self.version = group.since_version, version
        self.head = Head(forms, order, version, group.dimension, ("blockLength", "numInGroup"), group.dimension.size)
        self.block = BlockPlan(forms, order, version, group)
        count = group.count_type
        self._least, self._most = max(int(count.minimum), 0), int(count.maximum)
        self._head_name = free_name(group.name + HEAD, taken) if forms.keeps_padding else ""
        self.extra_names = {self._head_name} if self._head_name else set()

    def read(self, cursor: Cursor, values: dict[str, object]) -> None:
        """Read the group into the values of what it is in."""
        try:
            values[self.name] = self._read(cursor, values) if self.is_present else []
        except MessageError as error:
            raise error.within(self.name) from None

    def _read(self, cursor: Cursor, values: dict[str, object]) -> list[dict[str, object]]:
        start = cursor.position
        slots = self.head.read(cursor)
        block_length, count = self.head.numbers(slots)
        is_usual = block_length == self.block.default_length and self._least <= count <= self._most and not self.head.has_more
        if self._head_name and not is_usual:
            self._keep_head(values, slots, block_length, count)
        if count <= 0:
            if count < 0:
                raise MessageError("has a negative number of entries", expected="0 or more", actual=count, offset=start)
            return []
        block = self.block
        least = block_length + block.least_rest
        if not least:
            cursor.take_empty(count, sum(_value_count(field.type) for field in block.fields))
        if cursor.position + count * least > cursor.end:
            cursor.check(f"a group of {count} entries of at least {least} bytes", count * least)
        flat = block.read_flat(cursor, block_length, count)
        if flat is not None:
            return flat
        entries: list[dict[str, object]] = []
        try:
            for _ in range(count):
                entries.append(block.read(cursor, block_length))
        except MessageError as error:
            raise error.within(f"[{len(entries)}]") from None
        return entries

    def _keep_head(self, values: dict[str, object], slots: tuple[Slot, ...], block_length: int, count: int) -> None:
        kept = self.head.more(slots)
        if block_length != self.block.default_length:
            kept["blockLength"] = block_length
        if not self._least <= count <= self._most:
            kept["numInGroup"] = count
        if kept:
            values[self._head_name] = kept

    def write(self, values: Mapping[str, Any], out: bytearray) -> None:
        """Append the group of what it is in."""
        entries = values.get(self.name)
        try:
            if not self.is_present:
                if entries:
                    told = f"no entries (it is there from version {self.since_version} on, the message has version {self.version})"
                    raise MessageError("is not part of this version", expected=told, actual=f"{len(entries)} entries")
                return
            if entries is None:
                raise MessageError("is missing" if self.name not in values else "cannot be null", expected="a list of entries")
            if entries.__class__ is not list and (not isinstance(entries, Sequence) or isinstance(entries, str | bytes)):
                raise MessageError("is of the wrong kind", expected="a list of entries", actual=shown(entries))
            self._write(entries, values.get(self._head_name, {}) if self._head_name else {}, out)
        except MessageError as error:
            raise error.within(self.name) from None

    def _write(self, entries: Sequence[Any], given: Any, out: bytearray) -> None:
        count, block = len(entries), self.block
        told, more = split_head(given, self.head.roles, self._head_name)
        block_length = told.get("blockLength", block.default_length)
        check_told(told, "numInGroup", count, self._head_name)
        if "numInGroup" not in told and not self._least <= count <= self._most:
            raise MessageError("has the wrong number of entries", expected=f"{self._least}..{self._most}", actual=count)
        try:
            out += self.head.write((block_length, count), more)
        except MessageError as error:
            raise error.within(self._head_name) from None
        index = 0
        try:
            for index, entry in enumerate(entries):  # noqa: B007 (told in the error)
                block.write(entry, block_length, out)
        except MessageError as error:
            raise error.within(f"[{index}]") from None


def _value_count(type: Type) -> int:
    if isinstance(type, Composite):
        return sum(_value_count(member.type) for member in type.members)
    return type.length if isinstance(type, EncodedType) else 1
