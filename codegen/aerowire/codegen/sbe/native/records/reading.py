"""The function that reads a block or a composite, every length checked before use."""

from __future__ import annotations

from collections.abc import Iterator

from aerowire.codegen.sbe.flyweights.nulls import null_expression
from aerowire.codegen.sbe.flyweights.part_properties import data_encoding
from aerowire.codegen.sbe.flyweights.text import INDENT, literal
from aerowire.codegen.sbe.flyweights.values import Value, errors_of, is_marked, is_nan
from aerowire.codegen.sbe.ir import Composite, Data, EncodedType, Group, Named
from aerowire.codegen.sbe.native.c_text import c_type
from aerowire.codegen.sbe.native.records.common import PLAIN_ENCODINGS, UNROLLED, RecordText, c_number, primitive
from aerowire.codegen.sbe.native.words import plain


class Reader(RecordText):
    """Writes the reader."""

    def reader(self) -> list[str]:
        if isinstance(self.owner, Composite):
            out = [f"cdef int _read_{self.stem}({self.kind} self, const uint8_t* p, uint64_t version) except -1:"]
            return [*out, *self._assignments(), f"{INDENT}return 0", *self._null_check()]
        steps = self.owner.growth()
        least = "".join(f"{end} if version >= {since} else " if since else f"{end}" for since, end in reversed(steps))
        least = least if steps and not steps[0][0] else f"{least}0"
        arguments = "const uint8_t* data, Py_ssize_t at, Py_ssize_t end, uint64_t length, uint64_t version"
        out = [
            f"cdef Py_ssize_t _read_{self.stem}({self.kind} self, {arguments}) except -2:",
            f'{INDENT}"""Where the block that starts at `at` ends with all behind it; -1 when it is not regular."""',
            f"{INDENT}cdef const uint8_t* p = data + at",
            f"{INDENT}cdef uint64_t size, count, least",
            f"{INDENT}cdef Py_ssize_t index",
            f"{INDENT}least = {least}",
            f"{INDENT}if length < least or length > <uint64_t>(end - at):",
            f"{INDENT * 2}return -1",
            *self._assignments(),
            f"{INDENT}at += <Py_ssize_t>length",
        ]
        for group in self.groups:
            out += self._read_group(group)
        for data in self.data:
            out += self._read_data(data)
        return [*out, f"{INDENT}return at"]

    def _assignments(self) -> Iterator[str]:
        for value in self.stored:
            if value.is_composite:
                yield from self._read_composite(value)
                continue
            read = self._read_value(value)
            yield f"{INDENT}self.{value.name} = {f'None if version < {value.since} else ' if value.since else ''}{read}"

    def _read_composite(self, value: Value) -> Iterator[str]:
        kind, stem, level = value.class_name, plain(value.class_name), 1
        if value.since:
            yield from (f"{INDENT}if version < {value.since}:", f"{INDENT * 2}self.{value.name} = None", f"{INDENT}else:")
            level = 2
        yield f"{INDENT * level}self.{value.name} = {kind}.__new__({kind})"
        yield f"{INDENT * level}_read_{stem}(<{kind}>self.{value.name}, p + {value.offset}, version)"
        if value.is_nullable:
            yield from (f"{INDENT * level}if _null_{stem}(<{kind}>self.{value.name}):", f"{INDENT * (level + 1)}self.{value.name} = None")

    def _null_check(self) -> list[str]:
        """The function that says whether all members of a composite are null, where that is asked."""
        if not self.module.model.is_asked(self.owner):
            return []
        lines = ["", "", f"cdef bint _null_{self.stem}({self.kind} self) except -1:"]
        for value in self.stored:
            given = f"self.{value.name}"
            if value.is_composite:
                is_null = f"_null_{plain(value.class_name)}(<{value.class_name}>{given})"
            elif value.kind == "numbers" and is_nan(value.null):
                is_null = f"all([one != one for one in {given}])"
            else:
                is_null = f"{given} != {given}" if is_nan(value.null) else f"{given} == {null_expression(value)}"
            lines += [f"{INDENT}if not ({given} is None or {is_null}):", f"{INDENT * 2}return False"] if value.size else []
        return [*lines, f"{INDENT}return True"]

    def _read_value(self, value: Value) -> str:
        place = f"p + {value.offset}"
        if value.kind == "text" and value.encoding in PLAIN_ENCODINGS:
            return f"_text({place}, {value.size}, {PLAIN_ENCODINGS[value.encoding]})"
        if value.kind == "text":
            return self.module.decoded(value, f"(<const char*>({place}))[:{value.size}]")
        if value.kind == "numbers":
            return _read_row(value, place)
        c = c_type(primitive(value))
        raw = f"_load_{c}({place})"
        if value.kind in {"enum", "flags"}:
            return self.module.decoded(value, raw)
        plain = f"chr({raw})" if value.kind == "char" else raw
        if not value.is_optional:
            return plain
        is_null = f"{raw} != {raw}" if is_nan(value.null) else f"{raw} == {c_number(value, c)}"
        return f"(None if {is_null} else {plain})"

    def _read_group(self, group: Group) -> list[str]:
        name, entry = self.names[group.name], self.entry(group)
        stem = plain(entry)
        length, count = group.block_length_type, group.count_type
        tail = sum(one.dimension.size for one in group.groups if not one.since_version)
        tail += sum(one.data_offset for one in group.data if not one.since_version)
        lines = [
            "rows = []",
            f"self.{name} = rows",
            f"if end - at < {group.dimension.size}:",
            f"{INDENT}return -1",
            f"size = <uint64_t>{_head('data + at', group.dimension, 'blockLength', length)}",
            f"count = <uint64_t>{_head('data + at', group.dimension, 'numInGroup', count)}",
            f"at += {group.dimension.size}",
            # Entries without a byte say nothing but their number: the flyweights know how many a message may have.
            f"if count and (size > <uint64_t>(end - at) or size + {tail} == 0 or count > <uint64_t>(end - at) / (size + {tail})):",
            f"{INDENT}return -1",
            "for index in range(<Py_ssize_t>count):",
            f"{INDENT}entry_{stem} = {entry}.__new__({entry})",
            f"{INDENT}at = _read_{stem}(<{entry}>entry_{stem}, data, at, end, size, version)",
            f"{INDENT}if at < 0:",
            f"{INDENT * 2}return -1",
            f"{INDENT}(<list>rows).append(entry_{stem})",
        ]
        return self._since(group, lines, f"self.{name} = []")

    def _read_data(self, data: Data) -> list[str]:
        name, encoding = self.names[data.name], data_encoding(data)
        read = "PyBytes_FromStringAndSize(<const char*>data + at, <Py_ssize_t>count)"
        if encoding:
            read = f"PyUnicode_Decode(<const char*>data + at, <Py_ssize_t>count, {literal(encoding)}, {literal(errors_of(encoding))})"
            if encoding in ("ascii", "utf-8"):
                read = f"{_decoder(encoding)}(<const char*>data + at, <Py_ssize_t>count, {literal(errors_of(encoding))})"
            if is_marked(encoding):
                raw = "(<const char*>data + at)[:<Py_ssize_t>count]"
                read = f"{self.module.use('_marked_text_of')}({raw}, {literal(encoding)})"
        lines = [
            f"if end - at < {data.data_offset}:",
            f"{INDENT}return -1",
            f"count = <uint64_t>{_head('data + at', data.type, 'length', data.length_type)}",
            f"at += {data.data_offset}",
            "if count > <uint64_t>(end - at):",
            f"{INDENT}return -1",
            f"self.{name} = {read}",
            "at += <Py_ssize_t>count",
        ]
        return self._since(data, lines, f'self.{name} = {"" if encoding else "b"}""')

    @staticmethod
    def _since(one: Named, lines: list[str], absent: str) -> list[str]:
        if not one.since_version:
            return [f"{INDENT}{line}" for line in lines]
        head = [f"{INDENT}if version < {one.since_version}:", f"{INDENT * 2}{absent}", f"{INDENT}else:"]
        return [*head, *(f"{INDENT * 2}{line}" for line in lines)]


def _read_row(value: Value, place: str) -> str:
    """A tuple of numbers."""
    assert isinstance(value.type, EncodedType)
    c, size, length = c_type(value.type.primitive), value.type.primitive.size, value.type.length
    if length <= UNROLLED:
        return f"({''.join(f'_load_{c}({place} + {index * size}), ' for index in range(length))})"
    return f"tuple([_load_{c}({place} + {size} * row) for row in range({length})])"


def _decoder(encoding: str) -> str:
    return {"ascii": "PyUnicode_DecodeASCII", "utf-8": "PyUnicode_DecodeUTF8"}[encoding]


def _head(place: str, composite: Composite, name: str, encoded: EncodedType) -> str:
    if not encoded.size:
        return str(encoded.constant)
    return f"_load_{c_type(encoded.primitive)}({place} + {composite.member(name).offset})"
