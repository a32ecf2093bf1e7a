"""Cython of the data classes: extension types that read and write themselves, every length checked before use.

What is irregular (an error, a value of another type, an entry of another class) is left to the flyweights, which do it or say why not.
"""

from __future__ import annotations

from collections.abc import Iterator

from aerowire.codegen.ir import Primitive
from aerowire.codegen.sbe.flyweights.docs import class_doc
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.part_properties import data_encoding, group_stem
from aerowire.codegen.sbe.flyweights.text import literal
from aerowire.codegen.sbe.flyweights.values import Value, errors_of, is_marked, is_nan
from aerowire.codegen.sbe.ir import Block, Composite, Data, EncodedType, Group, Message, Named
from aerowire.codegen.sbe.naming import property_names
from aerowire.codegen.sbe.native.c_text import c_type

Owner = Block | Composite
INDENT = "    "
# Rows of numbers up to this length are written out; longer ones are loops.
UNROLLED = 16
# Encodings of text that C reads, and what the support code calls them.
PLAIN_ENCODINGS = {"ascii": 0, "utf-8": 1, "iso8859-1": 2, "latin-1": 2}


def add_record(module: Module, stem: str, owner: Owner) -> None:
    """The extension type of a message, an entry or a composite, with its reader and its writer."""
    record = _Record(module, stem, owner)
    module.lines += ["", "", f"cdef class {stem}:", *class_doc(owner, 1, f"{owner.name} as plain values.")]
    module.lines += record.body()
    module.lines += ["", "", *record.reader(), "", "", *record.writer()]


class _Record:
    def __init__(self, module: Module, stem: str, owner: Owner) -> None:
        self.module = module
        self.stem = stem
        self.owner = owner
        self.values = module.model.values(owner)
        self.stored = [value for value in self.values if not value.is_constant]
        self.names = property_names(owner)
        self.groups = owner.groups if isinstance(owner, Block) else ()
        self.data = owner.data if isinstance(owner, Block) else ()

    # -- the class ----------------------------------------------------------------------------------------------------------

    def body(self) -> Iterator[str]:
        members = [*(value.name for value in self.stored), *(self.names[one.name] for one in (*self.groups, *self.data))]
        for name in members:
            yield f"{INDENT}cdef public object {name}"
        for value in self.values:
            if value.is_constant:
                if value.class_name:
                    self.module.use_class(value.class_name, "enums")
                yield f"{INDENT}{value.name} = {self.module.model.constant(value)}"
        every = [*(value.name for value in self.values), *(self.names[one.name] for one in (*self.groups, *self.data))]
        kinds = {value.name: value.class_name for value in self.values if value.is_composite}
        kinds |= {self.names[one.name]: group_stem(self.module.model, self.stem, one) for one in self.groups}
        yield f"{INDENT}_MEMBERS = {{{', '.join(f'{literal(name)}: {kinds.get(name)}' for name in every)}}}"
        constants = [value.name for value in self.values if value.is_constant]
        yield f"{INDENT}_CONSTANTS = ({''.join(f'{literal(name)}, ' for name in constants)})"
        yield f"{INDENT}__dataclass_fields__ = _fields_of(({''.join(f'{one}, ' for one in self._fields())}))"
        yield f"{INDENT}__match_args__ = ()"
        yield from self._init(members)
        yield from ("", f"{INDENT}def __repr__(self):")
        shown = ", ".join(f"{name}={{self.{name}!r}}" for name in members)
        yield f'{INDENT * 2}return f"{{type(self).__qualname__}}({shown})"'
        mine, others = (f"({''.join(f'{of}.{name}, ' for name in members)})" for of in ("self", f"(<{self.stem}>other)"))
        yield from ("", f"{INDENT}def __eq__(self, other):", f"{INDENT * 2}if type(other) is not type(self):")
        yield from (f"{INDENT * 3}return NotImplemented", f"{INDENT * 2}return {mine} == {others}")
        yield from ("", f"{INDENT}__hash__ = None")
        yield from ("", f"{INDENT}def __reduce__(self):")
        state = ", ".join(f"{literal(name)}: self.{name}" for name in members)
        yield f"{INDENT * 2}return _rebuilt, (type(self), {{{state}}})"
        yield from ("", f"{INDENT}def to_dict(self):", f"{INDENT * 2}return _to_dict(self)")
        made = f"{INDENT * 2}return {self.module.use('_record_from_dict')}(cls, values, cls.__name__)"
        yield from ("", f"{INDENT}@classmethod", f"{INDENT}def from_dict(cls, values):", made)
        if isinstance(self.owner, Message):
            yield from self._message(self.owner)

    def _fields(self) -> Iterator[str]:
        """Name, annotation, and default of each as `dataclasses` knows them."""
        for value in self.stored:
            annotation = f"{value.plain_annotation}{' | None' if value.may_be_none else ''}"
            yield f"({literal(value.name)}, {literal(annotation)}, {'None' if value.may_be_none else '_REQUIRED'})"
        for group in self.groups:
            entry = group_stem(self.module.model, self.stem, group)
            yield f"({literal(self.names[group.name])}, {literal(f'list[{entry}]')}, _LIST)"
        for data in self.data:
            kind, default = ('"str"', '""') if data_encoding(data) else ('"bytes"', 'b""')
            yield f"({literal(self.names[data.name])}, {kind}, {default})"

    def _init(self, members: list[str]) -> Iterator[str]:
        if not members:
            return
        defaults = {value.name: "=None" if value.may_be_none else "" for value in self.stored}
        defaults |= {self.names[group.name]: "=_LIST" for group in self.groups}
        defaults |= {self.names[data.name]: '=""' if data_encoding(data) else '=b""' for data in self.data}
        yield from ("", f"{INDENT}def __init__(self, *, {', '.join(name + defaults[name] for name in members)}):")
        lists = {self.names[group.name] for group in self.groups}
        for name in members:
            yield f"{INDENT * 2}self.{name} = {f'[] if {name} is _LIST else {name}' if name in lists else name}"

    def _message(self, message: Message) -> Iterator[str]:
        model, stem = self.module.model, self.stem
        header = model.schema.header
        expected = {
            "templateId": message.id,
            "schemaId": model.schema.id,
            "blockLength": message.block_length,
            "version": model.schema.version,
        }
        numbers = {name: (header.encoded(name), header.offset(name)) for name in expected}
        constants = {"schemaId": str(model.schema.id)}
        raw = {
            name: f"_load_{c_type(one.primitive)}(data + offset + {at})" if one.size else constants.get(name, str(one.constant))
            for name, (one, at) in numbers.items()
        }
        name = literal(message.name)
        lengths = [f"<uint64_t>{raw[key].replace('offset + ', f'offset - {header.size} + ')}" for key in ("blockLength", "version")]
        yield from (
            "",
            f"{INDENT}@classmethod",
            f"{INDENT}def decode(cls, buffer, offset=0):",
            f'{INDENT * 2}"""Read the message whose header starts at `offset`.  Raises SbeError when it is another or is damaged."""',
            f"{INDENT * 2}cdef {stem} self = {stem}.__new__({stem}) if cls is {stem} else cls.__new__(cls)",
            f"{INDENT * 2}if _decode_{stem}(self, buffer, offset):",
            f"{INDENT * 3}return self",
            f"{INDENT * 2}return _read_record(cls, {stem}Decoder().wrap_and_apply_header(buffer, offset))",
            "",
            f"{INDENT}def encode(self):",
            f'{INDENT * 2}"""The bytes of the message with its header.  Raises SbeError when a value cannot be written."""',
            f"{INDENT * 2}cdef uint8_t near[{NEAR}]",
            f"{INDENT * 2}cdef _Out out",
            f"{INDENT * 2}cdef uint8_t* p",
            f"{INDENT * 2}out.data, out.used, out.room, out.heap = near, 0, {NEAR}, NULL",
            f"{INDENT * 2}try:",
            f"{INDENT * 3}_claim(&out, {header.size})",
            f"{INDENT * 3}_write_{stem}(self, &out)",
            f"{INDENT * 3}p = out.data",
            f"{INDENT * 3}memset(p, 0, {header.size})",
            *(
                f"{INDENT * 3}_store_{c_type(numbers[key][0].primitive)}(p + {numbers[key][1]}, {value})"
                for key, value in expected.items()
                if numbers[key][0].size
            ),
            f"{INDENT * 3}return PyBytes_FromStringAndSize(<char*>p, out.used)",
            f"{INDENT * 2}except {self.module.use('_FAILURES')}:",
            f"{INDENT * 3}return {self.module.use('_encode_record')}(self, {stem}Encoder)",
            f"{INDENT * 2}finally:",
            f"{INDENT * 3}free(out.heap)",
            "",
            f"{INDENT}def encode_into(self, buffer, offset=0):",
            f'{INDENT * 2}"""Write the message with its header at `offset`; returns its length in bytes."""',
            f"{INDENT * 2}return {self.module.use('_put_bytes')}(self.encode(), buffer, offset, {name})",
        )
        self.after = [
            "",
            "",
            f"cdef bint _decode_{stem}({stem} self, object buffer, object place) except -1:",
            f'{INDENT}"""Whether the quick way could."""',
            f"{INDENT}cdef Py_buffer view",
            f"{INDENT}cdef const uint8_t* data",
            f"{INDENT}cdef Py_ssize_t end, offset",
            f"{INDENT}cdef bint is_lent = False",
            f"{INDENT}if not PyLong_CheckExact(place):",
            f"{INDENT * 2}return False",
            f"{INDENT}try:",
            f"{INDENT * 2}offset = PyLong_AsSsize_t(place)",
            f"{INDENT * 2}if PyBytes_CheckExact(buffer):",
            f"{INDENT * 3}data, end = <const uint8_t*>PyBytes_AS_STRING(buffer), PyBytes_GET_SIZE(buffer)",
            f"{INDENT * 2}else:",
            f"{INDENT * 3}PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)",
            f"{INDENT * 3}is_lent = True",
            f"{INDENT * 3}data, end = <const uint8_t*>view.buf, view.len",
            f"{INDENT * 2}if offset < 0 or end - offset < {header.size}:",
            f"{INDENT * 3}return False",
            f"{INDENT * 2}if {raw['templateId']} != {message.id} or {raw['schemaId']} != {model.schema.id}:",
            f"{INDENT * 3}return False",
            f"{INDENT * 2}offset += {header.size}",
            f"{INDENT * 2}return _read_{stem}(self, data, offset, end, {lengths[0]}, {lengths[1]}) >= 0",
            f"{INDENT}except {self.module.use('_FAILURES')}:",
            f"{INDENT * 2}return False",
            f"{INDENT}finally:",
            f"{INDENT * 2}if is_lent:",
            f"{INDENT * 3}PyBuffer_Release(&view)",
        ]

    # -- reading ------------------------------------------------------------------------------------------------------------

    def reader(self) -> list[str]:
        if isinstance(self.owner, Composite):
            out = [f"cdef int _read_{self.stem}({self.stem} self, const uint8_t* p, uint64_t version) except -1:"]
            return [*out, *self._assignments(), f"{INDENT}return 0"]
        steps: list[tuple[int, int]] = []
        for one in sorted(self.owner.fields, key=lambda one: (one.since_version, -one.end)):
            if one.end > (steps[-1][1] if steps else 0):
                steps.append((one.since_version, one.end))
        least = "".join(f"{end} if version >= {since} else " if since else f"{end}" for since, end in reversed(steps))
        least = least if steps and not steps[0][0] else f"{least}0"
        arguments = "const uint8_t* data, Py_ssize_t at, Py_ssize_t end, uint64_t length, uint64_t version"
        out = [
            f"cdef Py_ssize_t _read_{self.stem}({self.stem} self, {arguments}) except -2:",
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
        return [*out, f"{INDENT}return at", *(self.after if isinstance(self.owner, Message) else ())]

    def _assignments(self) -> Iterator[str]:
        for value in self.stored:
            if value.is_composite:
                yield from self._read_composite(value)
                continue
            read = self._read_value(value)
            yield f"{INDENT}self.{value.name} = {f'None if version < {value.since} else ' if value.since else ''}{read}"

    def _read_composite(self, value: Value) -> Iterator[str]:
        kind, level = value.class_name, 1
        if value.since:
            yield from (f"{INDENT}if version < {value.since}:", f"{INDENT * 2}self.{value.name} = None", f"{INDENT}else:")
            level = 2
        yield f"{INDENT * level}self.{value.name} = {kind}.__new__({kind})"
        yield f"{INDENT * level}_read_{kind}(<{kind}>self.{value.name}, p + {value.offset}, version)"

    def _read_value(self, value: Value) -> str:
        place = f"p + {value.offset}"
        if value.kind == "text" and value.encoding in PLAIN_ENCODINGS:
            return f"_text({place}, {value.size}, {PLAIN_ENCODINGS[value.encoding]})"
        if value.kind == "text":
            return self.module.decoded(value, f"(<const char*>({place}))[:{value.size}]")
        if value.kind == "numbers":
            return _read_row(value, place)
        c = c_type(_primitive(value))
        raw = f"_load_{c}({place})"
        if value.kind in {"enum", "flags"}:
            return self.module.decoded(value, raw)
        plain = f"chr({raw})" if value.kind == "char" else raw
        if not value.is_optional:
            return plain
        is_null = f"{raw} != {raw}" if is_nan(value.null) else f"{raw} == {_c_number(value, c)}"
        return f"(None if {is_null} else {plain})"

    def _read_group(self, group: Group) -> list[str]:
        name, entry = self.names[group.name], group_stem(self.module.model, self.stem, group)
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
            f"{INDENT}entry_{entry} = {entry}.__new__({entry})",
            f"{INDENT}at = _read_{entry}(<{entry}>entry_{entry}, data, at, end, size, version)",
            f"{INDENT}if at < 0:",
            f"{INDENT * 2}return -1",
            f"{INDENT}(<list>rows).append(entry_{entry})",
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

    # -- writing ------------------------------------------------------------------------------------------------------------

    def writer(self) -> list[str]:
        if isinstance(self.owner, Composite):
            out = [f"cdef int _write_{self.stem}({self.stem} self, uint8_t* p) except -1:"]
            return [*out, *self._stores(), f"{INDENT}return 0"]
        length = self.owner.block_length
        out = [
            f"cdef int _write_{self.stem}({self.stem} self, _Out* out) except -1:",
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
                kind = value.class_name
                yield f"{INDENT}if not isinstance({given}, {kind}):"
                yield f"{INDENT * 2}raise {self.module.use('_IrregularError')}"
                yield f"{INDENT}_write_{kind}(<{kind}>{given}, {place})"
            elif value.kind == "numbers":
                yield from self._store_row(value, given, place)
            elif value.kind == "text":
                yield f"{INDENT}_put_text({place}, {given}, {value.size}, {literal(value.encoding)}, {value.may_be_none})"
            else:
                yield from self._store_number(value, given, place)

    def _store_number(self, value: Value, given: str, place: str) -> Iterator[str]:
        c = c_type(_primitive(value))
        plain = f"_character({given})" if value.kind == "char" else _converted(c, given)
        if not value.may_be_none:
            yield f"{INDENT}_store_{c}({place}, {plain})"
            return
        null = _c_number(value, c)
        yield from (f"{INDENT}if {given} is None:", f"{INDENT * 2}_store_{c}({place}, {null})")
        yield from (f"{INDENT}else:", f"{INDENT * 2}_store_{c}({place}, {plain})")

    def _store_row(self, value: Value, given: str, place: str) -> Iterator[str]:
        assert isinstance(value.type, EncodedType)
        c, size, length = c_type(value.type.primitive), value.type.primitive.size, value.type.length
        yield f"{INDENT}row = {f'({_c_number(value, c)},) * {length} if {given} is None else ' if value.may_be_none else ''}{given}"
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
        name, entry = self.names[group.name], group_stem(self.module.model, self.stem, group)
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
            f"{INDENT}_write_{entry}(<{entry}>one, out)",
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


NEAR = 1024  # bytes of a message that are written without asking for memory


def _primitive(value: Value) -> Primitive:
    assert not isinstance(value.type, Composite)
    return value.type.primitive


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


def _put_head(place: str, composite: Composite, name: str, encoded: EncodedType, value: str) -> list[str]:
    c = c_type(encoded.primitive)
    return [f"_store_{c}({place} + {composite.member(name).offset}, <{c}>{value})"] if encoded.size else []


def _c_number(value: Value, c: str) -> str:
    """The null value as an expression of C."""
    null = value.null
    if is_nan(null):
        return "_NOT_A_NUMBER"
    if c in ("float", "double"):
        return f"<{c}>{float(null)!r}"
    if null == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    return f"<{c}>{null}{'ULL' if c == 'uint64_t' else ''}"


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
