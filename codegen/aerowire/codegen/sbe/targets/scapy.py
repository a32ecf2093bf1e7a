"""Scapy layers of messages: one module per schema with a class for each composite, message and group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from aerowire.codegen.ir import FORMATS
from aerowire.codegen.sbe.ir import (
    Block,
    ByteOrder,
    Composite,
    Data,
    EncodedType,
    Enum,
    Field,
    FlagSet,
    Group,
    Header,
    Member,
    Message,
    MessageSchema,
    Named,
    Number,
    Presence,
    Type,
)
from aerowire.codegen.sbe.naming import ClassNames, class_names, free_name, null_member_name, property_names
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.targets.python_text import quoted
from aerowire.codegen.targets.base import render

# Encodings whose every byte survives decoding and encoding.
ENCODINGS = {"us-ascii": "ascii", "ascii": "ascii", "utf-8": "utf-8", "utf8": "utf-8", "iso-8859-1": "latin-1", "latin1": "latin-1"}
# What a packet of scapy is or does itself; a field of such a name gets an underscore.
RESERVED = frozenset(
    {
        "add_parent",
        "add_payload",
        "add_underlayer",
        "aliastypes",
        "answers",
        "build",
        "build_done",
        "build_padding",
        "build_ps",
        "canvas_dump",
        "class_default_fields",
        "class_default_fields_ref",
        "class_dont_cache",
        "class_fieldtype",
        "class_packetfields",
        "clear_cache",
        "clone_with",
        "command",
        "comment",
        "comments",
        "copy",
        "copy_field_value",
        "copy_fields_dict",
        "decode_payload_as",
        "default_fields",
        "default_payload_class",
        "delfieldval",
        "deprecated_fields",
        "direction",
        "display",
        "dissect",
        "dissection_done",
        "do_build",
        "do_build_payload",
        "do_build_ps",
        "do_dissect",
        "do_dissect_payload",
        "do_init_cached_fields",
        "do_init_fields",
        "explicit",
        "extract_padding",
        "fields",
        "fields_desc",
        "fieldtype",
        "firstlayer",
        "fragment",
        "from_hexcap",
        "get_field",
        "getfield_and_val",
        "getfieldval",
        "getlayer",
        "guess_payload_class",
        "hashret",
        "haslayer",
        "hide_defaults",
        "init_fields",
        "iterpayloads",
        "json",
        "lastlayer",
        "layers",
        "lower_bonds",
        "match_subclass",
        "mysummary",
        "name",
        "original",
        "overload_fields",
        "overloaded_fields",
        "packetfields",
        "parent",
        "payload",
        "payload_guess",
        "pdfdump",
        "post_build",
        "post_dissect",
        "post_dissection",
        "post_transforms",
        "post_transform",
        "pre_dissect",
        "prepare_cached_fields",
        "process_information",
        "psdump",
        "raw_packet_cache",
        "raw_packet_cache_fields",
        "remove_parent",
        "remove_payload",
        "remove_underlayer",
        "route",
        "self_build",
        "sent_time",
        "setfieldval",
        "show",
        "show2",
        "show_indent",
        "show_summary",
        "sniffed_on",
        "sprintf",
        "stop_dissection_after",
        "summary",
        "svgdump",
        "time",
        "underlayer",
        "unknown",
        "upper_bonds",
        "wirelen",
    }
)


@dataclass
class _Layer:
    """A class of the module; `fields` are expressions in wire order."""

    name: str
    about: str
    title: str
    fields: list[str] = field(default_factory=list)
    constants: str = ""
    size: int = 0
    computed: str = ""
    is_header: bool = False
    base: str = ""
    length: int = 0
    count: int = 0
    ends: str = "()"
    id: int = 0
    dimension: str = ""


class ScapyMessages:
    """Renders one module per message schema."""

    name = "scapy"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        return {placement.file(self.name): _Module(schema, placement).text()}


class _Module:
    """The view-model of one schema."""

    def __init__(self, schema: MessageSchema, placement: Placement) -> None:
        self.schema = schema
        self.placement = placement
        self.order = "<" if schema.byte_order is ByteOrder.LITTLE_ENDIAN else ">"
        self.names: ClassNames = class_names(schema)
        self.parts: dict[Composite, _Layer] = {}
        self.enums: dict[Enum, str] = {}
        self.part_names: set[str] = {one.casefold() for one in [*self.names.messages.values(), *self.names.groups.values()]}
        self.part_names |= {one.casefold() for one in self.names.types.values()}

    def text(self) -> str:
        schema = self.schema
        own = self.placement.is_project
        header = self._part(schema.header.type, header=schema.header)
        blocks = [layer for message in schema.messages for layer in self._blocks(message, (message.name,), "")]
        names = layer_names(schema.header.type)
        return render(
            "scapy_messages.py.j2",
            source=f"spec/{self.placement.package}.xml" if own else self.placement.package,
            description=_docstring(schema.description) or f"Messages of {schema.package}.",
            header=header.name,
            example=next(iter(self.names.messages.values()), "Message"),
            version=schema.version,
            schema_id=schema.told_id,
            names={name: names[name] for name in ("blockLength", "templateId", "schemaId", "version")},
            enums=list(self._tables()),
            parts=list({part.name: part for part in self.parts.values()}.values()),
            blocks=blocks,
            templates=[(message.id, self.names.messages[message.name]) for message in schema.messages],
        )

    def _tables(self) -> Iterator[str]:
        """The names of every enum that a field has."""
        for enum, name in self.enums.items():
            lines = [f"    {one.value}: {quoted(one.name)}," for one in enum.values]
            yield "\n".join([f"{name} = {{", *lines, "}"])

    def _table(self, enum: Enum) -> str:
        if enum not in self.enums:
            self.enums[enum] = f"_{self.names.types.get(enum, enum.name)}_names_{len(self.enums)}"
        return self.enums[enum]

    def _part(self, composite: Composite, *, header: Header | None = None, group: Group | None = None) -> _Layer:
        """The class of a composite; what is within it comes before it."""
        known = self.names.types.get(composite)
        same = next((one for of, one in self.parts.items() if of == composite or one.name == known), None)
        if same is not None:
            return self.parts.setdefault(composite, same)
        name = known or free_name(_class_name(composite.name), self.part_names)
        layer = _Layer(name, _about(composite), quoted(f"{self.schema.package} {composite.name}"), size=composite.size)
        names = layer_names(composite)
        at = 0
        for member in composite.members:
            if member.presence is Presence.CONSTANT:
                continue
            if member.offset > at:
                layer.fields.append(_unused(at, member.offset - at))
            is_computed = (header is not None and member.name in {"blockLength", "templateId"}) or (
                group is not None and member.name in {"blockLength", "numInGroup"}
            )
            layer.fields.append(self._computed(member, names[member.name], header) if is_computed else self._member(member, names, header))
            at = member.offset + member.size
        if composite.size > at:
            layer.fields.append(_unused(at, composite.size - at))
        if group is not None:
            layer.computed = f"({quoted(names['blockLength'])}, {quoted(names['numInGroup'])})"
        layer.constants = _constants([(names[one.name], _member_constant(one)) for one in composite.members])
        layer.is_header = header is not None
        self.parts[composite] = layer
        return layer

    def _computed(self, member: Member, name: str, header: Header | None) -> str:
        assert isinstance(member.type, EncodedType)
        form = quoted(self.order + FORMATS[member.type.primitive.name])
        return f"_Computed({quoted(name)}, None, {form})" if header is not None else f"_Field({quoted(name)}, None, {form})"

    def _member(self, member: Member, names: dict[str, str], header: Header | None) -> str:
        usual = {"schemaId": self.schema.id, "version": self.schema.version}.get(member.name) if header is not None else None
        return self._value(names[member.name], member.type, member.presence, usual)

    def _blocks(self, block: Block, path: tuple[str, ...], dimension: str) -> Iterator[_Layer]:
        """The classes of a message or a group, those of its own groups first."""
        is_message = isinstance(block, Message)
        name = self.names.messages[block.name] if is_message else self.names.groups[path]
        layer = _Layer(name, _about(block), quoted(f"{self.schema.package} {'.'.join(path)}"), id=block.id, length=block.block_length)
        layer.base, layer.dimension = ("_Message" if is_message else "_Entry"), quoted(dimension)
        names = layer_names(block)
        taken = {one.casefold() for one in names.values()}
        self._add_fields(layer, block, names)
        for group in block.groups:
            inner = free_name(f"{names[group.name]}_dimension", taken)
            yield from self._blocks(group, (*path, group.name), inner)
            self._add_group(layer, group, (*path, group.name), names[group.name], inner)
        for data in block.data:
            self._add_data(layer, data, names[data.name], free_name(f"{names[data.name]}_length", taken))
        yield layer

    def _add_fields(self, layer: _Layer, block: Block, names: dict[str, str]) -> None:
        ends: list[str] = []
        at = 0
        for one in block.fields:
            if one.presence is Presence.CONSTANT:
                continue
            if one.offset > at:
                layer.fields.append(f"_since({_unused(at, one.offset - at)}, {one.since_version}, {one.offset})")
            layer.fields.append(f"_since({self._value(names[one.name], one.type, one.presence)}, {one.since_version}, {one.end})")
            ends.append(f"({one.since_version}, {one.end})")
            at = one.end
        layer.fields.append("_Tail()")
        layer.count = len(layer.fields)
        layer.ends = f"({', '.join(ends)}{',' if len(ends) == 1 else ''})"
        layer.constants = _constants([(names[one.name], _field_constant(one)) for one in block.fields])

    def _add_group(self, layer: _Layer, group: Group, path: tuple[str, ...], name: str, dimension: str) -> None:
        part = self._part(group.dimension, group=group).name
        entry = self.names.groups[path]
        parts = [
            f"_Dimension({quoted(dimension)}, {part}(), {part}, {quoted(name)}, lambda: {entry})",
            f"_Entries({quoted(name)}, lambda: {entry}, {quoted(dimension)})",
        ]
        layer.fields += [f"_since({one}, {group.since_version})" for one in parts] if group.since_version else parts

    def _add_data(self, layer: _Layer, data: Data, name: str, length_name: str) -> None:
        form = quoted(self.order + FORMATS[data.length_type.primitive.name])
        length_from = f"lambda packet: max(packet.{length_name} or 0, 0)"
        parts = [f"_DataLength({quoted(length_name)}, {form}, {quoted(name)})"]
        if data.length_offset:
            parts.insert(0, _unused(0, data.length_offset, name))
        end = data.length_offset + data.length_type.size
        if data.data_offset > end:
            parts.append(_unused(end, data.data_offset - end, name))
        encoding = ENCODINGS.get(data.encoding.lower())
        if encoding:
            parts.append(f"_DataText({quoted(name)}, '', {quoted(encoding)}, {length_from})")
        else:
            parts.append(f'_Data({quoted(name)}, b"", length_from={length_from})')
        layer.fields += [f"_since({one}, {data.since_version})" for one in parts] if data.since_version else parts

    def _value(self, name: str, type_: Type, presence: Presence, usual: int | None = None) -> str:
        if isinstance(type_, Composite):
            part = self._part(type_).name
            return f"_Composite({quoted(name)}, {part}(), {part})"
        is_optional = presence is Presence.OPTIONAL
        form = quoted(self.order + FORMATS[type_.primitive.name])
        if isinstance(type_, FlagSet):
            bits = 8 * type_.size * (-1 if self.order == "<" and type_.size > 1 else 1)
            return f"_FlagsField({quoted(name)}, 0, {bits}, [{', '.join(quoted(one) for one in _bit_names(type_))}])"
        if isinstance(type_, Enum):
            has_null = is_optional and null_member_name(type_) is not None
            null = f", {type_.null}" if has_null else ""
            default = "None" if has_null else str(type_.values[0].value if type_.values and not is_optional else type_.null)
            return f"_Enum({quoted(name)}, {default}, {self._table(type_)}, {form}{null})"
        if type_.primitive.name == "char":
            encoding = ENCODINGS.get(type_.character_encoding.lower() or "ascii")
            return self._octets(name, type_) if encoding is None else f'_Text({quoted(name)}, "", {type_.length}, {quoted(encoding)})'
        if type_.length != 1:
            return self._row(name, type_)
        null = f", {_literal(type_.null)}" if is_optional else ""
        return f"_Number({quoted(name)}, {'None' if is_optional else usual or 0}, {form}{null})"

    def _octets(self, name: str, type_: EncodedType) -> str:
        return f"_Octets({quoted(name)}, bytes({type_.length}), {type_.length})"

    def _row(self, name: str, type_: EncodedType) -> str:
        if type_.primitive.name == "uint8":
            return self._octets(name, type_)
        row = quoted(f"{self.order}{type_.length}{FORMATS[type_.primitive.name]}")
        return f"_Numbers({quoted(name)}, [0] * {type_.length}, {row})"


def _class_name(name: str) -> str:
    kept = "".join(one if one.isalnum() and one.isascii() else "_" for one in name).strip("_") or "Part"
    return kept[:1].upper() + kept[1:] if not kept[0].isdigit() else f"N{kept}"


def layer_names(block: Block | Composite) -> dict[str, str]:
    """The Python names of what is in a block; those that a packet has itself get an underscore."""
    return {name: f"{own}_" if own in RESERVED or own.startswith("sbe_") else own for name, own in property_names(block).items()}


def _bit_names(flags: FlagSet) -> list[str]:
    """Names of the bits, lowest first; scapy joins them with +."""
    named = {one.bit: one.name.replace("+", "_") for one in flags.choices}
    return [named.get(bit, f"bit_{bit}") for bit in range(8 * flags.size)]


def _unused(at: int, size: int, of: str = "") -> str:
    name = f"{of}_unused_{at}" if of else f"unused_{at}"
    return f"_Octets({quoted(name)}, bytes({size}), {size})"


def _literal(value: Number) -> str:
    if isinstance(value, float) and math.isnan(value):
        return 'float("nan")'
    return repr(value)


def _member_constant(member: Member) -> Number | str | None:
    return member.type.constant if isinstance(member.type, EncodedType) and member.presence is Presence.CONSTANT else None


def _field_constant(field_: Field) -> Number | str | None:
    if field_.presence is not Presence.CONSTANT or not isinstance(field_.type, Enum):
        return field_.constant if field_.presence is Presence.CONSTANT else None
    return next((one.value for one in field_.type.values if one.name == field_.constant), None)


def _constants(pairs: list[tuple[str, Number | str | None]]) -> str:
    entries = [f"{quoted(name)}: {quoted(value) if isinstance(value, str) else repr(value)}" for name, value in pairs if value is not None]
    return f"{{{', '.join(entries)}}}" if entries else ""


def _docstring(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace('"', "'")


def _about(named: Named) -> str:
    deprecated = f" Deprecated since version {named.deprecated}." if named.deprecated else ""
    return f'"""{_docstring(named.description) or _docstring(named.name)}{deprecated}"""'
