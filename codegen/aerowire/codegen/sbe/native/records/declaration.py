"""The class itself: members, constructor, comparison, and the methods that read and write a whole message."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from aerowire.codegen.sbe.flyweights.nulls import define_nulls
from aerowire.codegen.sbe.flyweights.part_properties import data_encoding
from aerowire.codegen.sbe.flyweights.text import INDENT, literal
from aerowire.codegen.sbe.flyweights.values import header_values
from aerowire.codegen.sbe.ir import Message
from aerowire.codegen.sbe.native.c_text import c_type
from aerowire.codegen.sbe.native.records.common import RecordText, told
from aerowire.codegen.sbe.native.words import plain, respelt

NEAR = 1024  # bytes of a message that are written without asking for memory


class Declaration(RecordText):
    """Writes the extension type."""

    def body(self) -> Iterator[str]:
        members = [*(value.name for value in self.stored), *(self.names[one.name] for one in (*self.groups, *self.data))]
        for index, name in enumerate(members):
            # C has keywords and macros of its own.
            yield f'{INDENT}cdef public object {name} "sbe_member_{index}"'
        for value in self.values:
            if value.is_constant:
                if value.class_name:
                    self.module.use_class(plain(value.class_name), "enums")
                unspelt = dataclasses.replace(value, class_name=plain(value.class_name))
                yield f"{INDENT}{value.name} = {respelt([self.module.model.constant(unspelt)])[0]}"
        every = [*(value.name for value in self.values), *(self.names[one.name] for one in (*self.groups, *self.data))]
        kinds = {value.name: value.class_name for value in self.values if value.is_composite}
        kinds |= {self.names[one.name]: self.entry(one) for one in self.groups}
        yield f"{INDENT}_MEMBERS = {{{', '.join(f'{told(name)}: {kinds.get(name)}' for name in every)}}}"
        constants = [value.name for value in self.values if value.is_constant]
        yield f"{INDENT}_CONSTANTS = ({''.join(f'{told(name)}, ' for name in constants)})"
        if self.module.model.is_asked(self.owner):
            yield f"{INDENT}_NULLS = {define_nulls(self.module, self.stem, self.owner)}"
        yield f"{INDENT}__dataclass_fields__ = _fields_of(({''.join(f'{one}, ' for one in self._fields())}))"
        yield f"{INDENT}__match_args__ = ()"
        yield from self._init(members)
        yield from ("", f"{INDENT}def __repr__(self):")
        shown = ", ".join(f"{plain(name)}={{self.{name}!r}}" for name in members)
        yield f'{INDENT * 2}return f"{{type(self).__qualname__}}({shown})"'
        mine, others = (f"({''.join(f'{of}.{name}, ' for name in members)})" for of in ("self", f"(<{self.kind}>other)"))
        yield from ("", f"{INDENT}def __eq__(self, other):", f"{INDENT * 2}if type(other) is not type(self):")
        yield from (f"{INDENT * 3}return NotImplemented", f"{INDENT * 2}return {mine} == {others}")
        yield from ("", f"{INDENT}__hash__ = None")
        yield from ("", f"{INDENT}def __reduce__(self):")
        state = ", ".join(f"{told(name)}: self.{name}" for name in members)
        yield f"{INDENT * 2}return _rebuilt, (type(self), {{{state}}})"
        yield from ("", f"{INDENT}def to_dict(self):", f"{INDENT * 2}return _to_dict(self)")
        made = f"{INDENT * 2}return {self.module.use('_record_from_dict')}(cls, values, cls.__name__)"
        yield from ("", f"{INDENT}@classmethod", f"{INDENT}def from_dict(cls, values):", made)
        if isinstance(self.owner, Message):
            yield from self._message(self.owner)

    def _fields(self) -> Iterator[str]:
        """Name, annotation, and default of each as `dataclasses` knows them."""
        for value in self.stored:
            annotation = f"{plain(value.plain_annotation)}{' | None' if value.may_be_none else ''}"
            yield f"({told(value.name)}, {literal(annotation)}, {'None' if value.may_be_none else '_REQUIRED'})"
        for group in self.groups:
            yield f"({told(self.names[group.name])}, {literal(f'list[{plain(self.entry(group))}]')}, _LIST)"
        for data in self.data:
            kind, default = ('"str"', '""') if data_encoding(data) else ('"bytes"', 'b""')
            yield f"({told(self.names[data.name])}, {kind}, {default})"

    def _init(self, members: list[str]) -> Iterator[str]:
        if not members:
            return
        defaults = {value.name: "=None" if value.may_be_none else "" for value in self.stored}
        defaults |= {self.names[group.name]: "=_LIST" for group in self.groups}
        defaults |= {self.names[data.name]: '=""' if data_encoding(data) else '=b""' for data in self.data}
        arguments = [name + defaults[name] for name in members if plain(name) == name]
        words = [name for name in members if plain(name) != name]
        star = "*, " if arguments else ""
        yield from ("", f"{INDENT}def __init__(self, {star}{', '.join([*arguments, *(['**_words'] if words else [])])}):")
        for name in words:
            # A parameter cannot be called so.
            yield f"{INDENT * 2}{name} = _word(_words, {told(name)}, {defaults[name][1:] or '_REQUIRED'})"
        if words:
            yield f"{INDENT * 2}_no_more(_words)"
        lists = {self.names[group.name] for group in self.groups}
        for name in members:
            yield f"{INDENT * 2}self.{name} = {f'[] if {name} is _LIST else {name}' if name in lists else name}"

    def _message(self, message: Message) -> Iterator[str]:
        model, stem, kind = self.module.model, self.stem, self.kind
        header = model.schema.header
        expected = header_values(model.schema, message)
        numbers = {name: (header.encoded(name), header.offset(name)) for name in expected}
        name = literal(message.name)
        yield from (
            "",
            f"{INDENT}@classmethod",
            f"{INDENT}def decode(cls, buffer, offset=0):",
            f'{INDENT * 2}"""Read the message whose header starts at `offset`.  Raises SbeError when it is another or is damaged."""',
            f"{INDENT * 2}cdef {kind} self = {kind}.__new__({kind}) if cls is {kind} else cls.__new__(cls)",
            f"{INDENT * 2}if _decode_{stem}(self, buffer, offset):",
            f"{INDENT * 3}return self",
            f"{INDENT * 2}return {self.module.use('_read_record')}(cls, {stem}Decoder().wrap_and_apply_header(buffer, offset))",
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

    def quick_decode(self, message: Message) -> list[str]:
        """The function that reads a whole message from any buffer, where nothing is irregular."""
        model, stem = self.module.model, self.stem
        header = model.schema.header
        numbers = {name: (header.encoded(name), header.offset(name)) for name in header_values(model.schema, message)}
        constants = {"schemaId": str(model.schema.id)}
        raw = {
            name: f"_load_{c_type(one.primitive)}(data + offset + {at})" if one.size else constants.get(name, str(one.constant))
            for name, (one, at) in numbers.items()
        }
        lengths = f"<uint64_t>{raw['blockLength']}, <uint64_t>{raw['version']}"
        return [
            "",
            "",
            f"cdef bint _decode_{stem}({self.kind} self, object buffer, object place) except -1:",
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
            f"{INDENT * 2}return _read_{stem}(self, data, offset + {header.size}, end, {lengths}) >= 0",
            f"{INDENT}except {self.module.use('_FAILURES')}:",
            f"{INDENT * 2}return False",
            f"{INDENT}finally:",
            f"{INDENT * 2}if is_lent:",
            f"{INDENT * 3}PyBuffer_Release(&view)",
        ]
