"""The function that writes a block or a composite; what is irregular is left to the flyweights."""

from __future__ import annotations

from collections.abc import Iterator

from aerowire.codegen.sbe.flyweights.part_properties import data_encoding
from aerowire.codegen.sbe.flyweights.text import INDENT, byte_literal, literal
from aerowire.codegen.sbe.flyweights.values import Value, errors_of, is_marked
from aerowire.codegen.sbe.ir import Composite, Data, EncodedType, Group
from aerowire.codegen.sbe.native.c_text import c_type
from aerowire.codegen.sbe.native.records.common import UNROLLED, RecordText, c_number, primitive
from aerowire.codegen.sbe.native.words import plain


class Writer(RecordText):
    """Writes the writer."""

    def writer(self) -> list[str]:
        if isinstance(self.owner, Composite):
            out = [f"cdef int _write_{self.stem}({self.kind} self, uint8_t* p) except -1:"]
            return [*out, *self._stores(), f"{INDENT}return 0"]
        length = self.owner.block_length
        out = [
            f"cdef int _write_{self.stem}({self.kind} self, _Out* out) except -1:",
            f"{INDENT}cdef uint8_t* p = _claim(out, {length})",
            f"{INDENT}cdef Py_ssize_t size",
            f"{INDENT}cdef list rows",
            f"{INDENT}memset(p, 0, {length})",
            *self._stores(),
        ]
        for group in self.groups:
            out += [f"{INDENT}{line}" for line in self._write_group(group)]
        for data in self.data:
            out += [f"{INDENT}{line}" for line in self._write_data(data)]
        return [*out, f"{INDENT}return 0"]

    def _stores(self) -> Iterator[str]:
        for value in self.stored:
            given, place = f"self.{value.name}", f"p + {value.offset}"
            if value.is_composite:
                kind, stem = value.class_name, plain(value.class_name)
                if value.is_nullable:
                    null = self.module.define(f"_NULL_{stem}", byte_literal(value.null_bytes(self.module.model.order)))
                    yield f"{INDENT}if {given} is None:"
                    yield f"{INDENT * 2}memcpy({place}, PyBytes_AS_STRING({null}), {value.size})"
                    yield f"{INDENT}else:"
                    yield f"{INDENT * 2}if not isinstance({given}, {kind}):"
                    yield f"{INDENT * 3}raise {self.module.use('_IrregularError')}"
                    yield f"{INDENT * 2}_write_{stem}(<{kind}>{given}, {place})"
                    continue
                yield f"{INDENT}if not isinstance({given}, {kind}):"
                yield f"{INDENT * 2}raise {self.module.use('_IrregularError')}"
                yield f"{INDENT}_write_{stem}(<{kind}>{given}, {place})"
            elif value.kind == "numbers":
                yield from self._store_row(value, given, place)
            elif value.kind == "text":
                yield f"{INDENT}_put_text({place}, {given}, {value.size}, {literal(value.encoding)}, {value.may_be_none})"
            else:
                yield from self._store_number(value, given, place)

    def _store_number(self, value: Value, given: str, place: str) -> Iterator[str]:
        c = c_type(primitive(value))
        plain = f"_character({given})" if value.kind == "char" else _converted(c, given)
        if not value.may_be_none:
            yield f"{INDENT}_store_{c}({place}, {plain})"
            return
        null = c_number(value, c)
        yield from (f"{INDENT}if {given} is None:", f"{INDENT * 2}_store_{c}({place}, {null})")
        yield from (f"{INDENT}else:", f"{INDENT * 2}_store_{c}({place}, {plain})")

    def _store_row(self, value: Value, given: str, place: str) -> Iterator[str]:
        assert isinstance(value.type, EncodedType)
        c, size, length = c_type(value.type.primitive), value.type.primitive.size, value.type.length
        yield f"{INDENT}row = {f'({c_number(value, c)},) * {length} if {given} is None else ' if value.may_be_none else ''}{given}"
        yield from (f"{INDENT}if not isinstance(row, (tuple, list)):", f"{INDENT * 2}raise {self.module.use('_IrregularError')}")
        # A list could have another length by the time that its numbers have been asked what they are.
        yield f"{INDENT}row = tuple(row)"
        yield from (f"{INDENT}if len(row) != {length}:", f"{INDENT * 2}raise {self.module.use('_IrregularError')}")
        if length <= UNROLLED:
            for index in range(length):
                yield f"{INDENT}_store_{c}({place} + {index * size}, {_converted(c, f'row[{index}]')})"
        else:
            yield f"{INDENT}for index, one in enumerate(row):"
            yield f"{INDENT * 2}_store_{c}({place} + {size} * <Py_ssize_t>index, {_converted(c, 'one')})"

    def _write_group(self, group: Group) -> list[str]:
        name, entry = self.names[group.name], self.entry(group)
        irregular = self.module.use("_IrregularError")
        least, most = int(max(group.count_type.minimum, 0)), int(group.count_type.maximum)
        return [
            f"if not isinstance(self.{name}, (list, tuple)):",
            f"{INDENT}raise {irregular}",
            f"rows = self.{name} if isinstance(self.{name}, list) else list(self.{name})",
            "size = len(rows)",
            f"if not {least} <= size <= {most}:",
            f"{INDENT}raise {irregular}",
            f"p = _claim(out, {group.dimension.size})",
            f"memset(p, 0, {group.dimension.size})",
            *_put_head("p", group.dimension, "blockLength", group.block_length_type, str(group.block_length)),
            *_put_head("p", group.dimension, "numInGroup", group.count_type, "size"),
            "for one in rows:",
            f"{INDENT}if not isinstance(one, {entry}):",
            f"{INDENT * 2}raise {irregular}",
            f"{INDENT}_write_{plain(entry)}(<{entry}>one, out)",
        ]

    def _write_data(self, data: Data) -> list[str]:
        name, encoding = self.names[data.name], data_encoding(data)
        if encoding in ("ascii", "utf-8"):
            raw = f"_as_utf8(self.{name}, {encoding == 'ascii'})"
        elif is_marked(encoding):
            raw = f"_as_bytes({self.module.use('_marked_bytes_of')}(self.{name}, {literal(encoding)}))"
        elif encoding:
            raw = f"_as_bytes(self.{name}.encode({literal(encoding)}, {literal(errors_of(encoding))}))"
        else:
            raw = f"_as_bytes(self.{name})"
        return [
            f"raw = {raw}",
            "size = _length_of(raw)",
            f"if size > {data.max_length}:",
            f"{INDENT}raise {self.module.use('_IrregularError')}",
            f"p = _claim(out, {data.data_offset} + size)",
            f"memset(p, 0, {data.data_offset})",
            *_put_head("p", data.type, "length", data.length_type, "size"),
            f"memcpy(p + {data.data_offset}, _start_of(raw), size)",
        ]


def _put_head(place: str, composite: Composite, name: str, encoded: EncodedType, value: str) -> list[str]:
    c = c_type(encoded.primitive)
    return [f"_store_{c}({place} + {composite.member(name).offset}, <{c}>{value})"] if encoded.size else []


def _converted(c: str, given: str) -> str:
    if c in ("float", "double"):
        return f"_{c}({given})"
    if c == "uint64_t":
        return f"_unsigned({given})"
    bits = int(c.strip("uint_"))
    least, most = (0, (1 << bits) - 1) if c.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    if bits == 64:
        return f"_signed({given})"
    return f"<{c}>_within({given}, {least}, {most})"
