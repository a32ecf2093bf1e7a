"""Scapy layers of messages: one module per schema with a class for each composite, message and group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from aerowire.codegen.mark import mark
from aerowire.codegen.primitives import FORMATS
from aerowire.codegen.rendering.base import render
from aerowire.codegen.sbe.flyweights.text import docstring, literal, number
from aerowire.codegen.sbe.ir import (
    HEADER_NUMBERS,
    Block,
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
from aerowire.codegen.sbe.naming import ClassNames, TakenNames, class_names, free_name, null_member_name
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.targets.dtypes import shared_dots
from aerowire.codegen.sbe.targets.python_text import Listing, call, laid_out, mapping, names_called, row
from aerowire.codegen.sbe.targets.scapy_names import is_reserved, layer_names

ABOUT = (
    "Layers for building and dissecting SBE messages: `{header}() / {example}()` is a message behind its header.  What stands as None "
    "in a header or in front of a group is computed; every value may be set to what no peer would send.  Groups are lists of entries, "
    "data announces its length in a field of its own, a null reads as None, what the acting version or block length lacks is None too.  "
    "A message that is cut short is dissected as `Raw`."
)
NAMES = "Fields are called as in the flyweights, but what a packet of scapy has itself (its `time`, say) gets an underscore."
# What the module takes from the one that all of them use.
SUPPORT = {
    *("Block", "Character", "Composite", "Computed", "Data", "DataLength", "DataText", "Dimension", "Entries", "Entry", "Enum"),
    *("Number", "Numbers", "Octets", "Part", "Tail", "Text", "in_order", "since"),
}
# Encodings whose every byte survives decoding and encoding.
ENCODINGS = {"us-ascii": "ascii", "ascii": "ascii", "utf-8": "utf-8", "utf8": "utf-8", "iso-8859-1": "latin-1", "latin1": "latin-1"}


@dataclass
class _Layer:
    """A class of the module; `fields` are expressions in wire order."""

    name: str
    about: list[str]
    title: str
    fields: list[Listing] = field(default_factory=list)
    constants: str = ""
    size: int = 0
    computed: str = ""
    is_header: bool = False
    base: str = ""
    length: int = 0
    count: int = 0
    ends: str = ""
    id: int = 0
    dimension: str = ""

    @property
    def lines(self) -> list[str]:
        """The fields as lines of a call."""
        return [line for one in self.fields for line in laid_out("", one, ",", 2).split("\n")]


class ScapyMessages:
    """Renders one module per message schema, and the module that all of them use."""

    name = "scapy"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        support = render("sbe/templates/scapy_support.py.j2", header=mark())
        shared = placement.shared_folder()
        return {placement.file(self.name): _Module(schema, placement).text(), f"{shared}/_scapy.py": support}


class _Module:
    """The view-model of one schema."""

    def __init__(self, schema: MessageSchema, placement: Placement) -> None:
        self.schema = schema
        self.placement = placement
        self.order = schema.byte_order.struct_prefix
        self.names: ClassNames = class_names(schema)
        self.parts: dict[str, _Layer] = {}
        self.framing: dict[Composite, str] = {}
        self.renamed: set[str] = set()
        self.enums: dict[Enum, str] = {}
        self.part_names = TakenNames([*self.names.messages.values(), *self.names.groups.values(), *self.names.types.values()])

    def text(self) -> str:
        schema = self.schema
        header = self._part(schema.header.type, header=schema.header)
        blocks = [layer for message in schema.messages for layer in self._blocks(message, (message.name,), "")]
        layers = [*self.parts.values(), *blocks]
        names = self._names(schema.header.type)
        templates: list[tuple[str, str | Listing]] = [(str(one.id), self.names.messages[one.name]) for one in schema.messages]
        example = next(iter(self.names.messages.values()), "Message")
        called = {name[1:] for layer in layers for one in layer.fields for name in names_called(one)}
        support = {"Block", "Part", "in_order", *called, *(layer.base[1:] for layer in blocks)}
        return render(
            "sbe/templates/scapy_messages.py.j2",
            scapy_fields=sorted(called & {"Field", "FlagsField"}),
            has_constants=any(layer.constants for layer in layers),
            support=sorted(support & SUPPORT),
            dots=shared_dots(self.placement, "scapy"),
            mark=mark(self.placement.source),
            about=docstring(
                schema.description or f"Messages of {schema.package}.",
                0,
                ABOUT.format(header=header.name, example=example),
                NAMES + (f"  Here: {', '.join(f'`{one}`' for one in sorted(self.renamed))}." if self.renamed else ""),
            ),
            header=header.name,
            version=schema.version,
            schema_id=schema.told_id,
            names={name: names[name] for name in HEADER_NUMBERS},
            enums=list(self._tables()),
            parts=list(self.parts.values()),
            blocks=blocks,
            templates=laid_out("templates: dict[int, type[_Packet]] = ", mapping(templates)),
        )

    def _names(self, owner: Block | Composite) -> dict[str, str]:
        """The name of each field; those that are not as in the flyweights are kept."""
        names = layer_names(owner)
        self.renamed |= {own for own in names.values() if is_reserved(own[:-1])}
        return names

    def _tables(self) -> Iterator[str]:
        """The names of every enum that a field has."""
        for enum, name in self.enums.items():
            yield laid_out(f"{name}: dict[int, str] = ", mapping([(str(one.value), literal(one.name)) for one in enum.values]))

    def _table(self, enum: Enum) -> str:
        if enum not in self.enums:
            self.enums[enum] = f"_{self.names.types.get(enum, enum.name)}_names_{len(self.enums)}"
        return self.enums[enum]

    def _part(self, composite: Composite, *, header: Header | None = None, group: Group | None = None) -> _Layer:
        """The class of a composite; what is within it comes before it."""
        name = self.names.types.get(composite) or self.framing.get(composite)
        if name is None:
            name = self.framing[composite] = free_name(_class_name(composite.name), self.part_names)
        if name in self.parts:
            return self.parts[name]
        layer = _Layer(name, _about(composite), literal(f"{self.schema.package} {composite.name}"), size=composite.size)
        names = self._names(composite)
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
            layer.computed = f"({literal(names['blockLength'])}, {literal(names['numInGroup'])})"
        layer.constants = _constants([(names[one.name], _member_constant(one)) for one in composite.members])
        layer.is_header = header is not None
        self.parts[name] = layer
        return layer

    def _computed(self, member: Member, name: str, header: Header | None) -> Listing:
        assert isinstance(member.type, EncodedType)
        form = literal(self.order + FORMATS[member.type.primitive.name])
        return call("_Computed" if header is not None else "_Field", literal(name), "None", form)

    def _member(self, member: Member, names: dict[str, str], header: Header | None) -> Listing:
        usual = {"schemaId": self.schema.id, "version": self.schema.version}.get(member.name) if header is not None else None
        return self._value(names[member.name], member.type, member.presence, usual)

    def _blocks(self, block: Block, path: tuple[str, ...], dimension: str) -> Iterator[_Layer]:
        """The classes of a message or a group, those of its own groups first."""
        is_message = isinstance(block, Message)
        name = self.names.messages[block.name] if is_message else self.names.groups[path]
        layer = _Layer(name, _about(block), literal(f"{self.schema.package} {'.'.join(path)}"), id=block.id, length=block.block_length)
        layer.base, layer.dimension = ("_Message" if is_message else "_Entry"), literal(dimension)
        names = self._names(block)
        taken = TakenNames(names.values())
        self._add_fields(layer, block, names)
        for group in block.groups:
            inner = free_name(f"{names[group.name]}_dimension", taken)
            yield from self._blocks(group, (*path, group.name), inner)
            self._add_group(layer, group, (*path, group.name), names[group.name], inner)
        for data in block.data:
            self._add_data(layer, data, names[data.name], free_name(f"{names[data.name]}_length", taken))
        yield layer

    def _add_fields(self, layer: _Layer, block: Block, names: dict[str, str]) -> None:
        ends: list[str | Listing] = []
        at = 0
        for one in block.fields:
            if one.presence is Presence.CONSTANT:
                continue
            if one.offset > at:
                layer.fields.append(call("_since", _unused(at, one.offset - at), str(one.since_version), str(one.offset)))
            value = self._value(names[one.name], one.type, one.presence)
            layer.fields.append(call("_since", value, str(one.since_version), str(one.end)))
            ends.append(f"({one.since_version}, {one.end})")
            at = one.end
        layer.fields.append(call("_Tail"))
        layer.count = len(layer.fields)
        layer.ends = laid_out("SBE_ENDS = ", row(ends), "", 1)
        layer.constants = _constants([(names[one.name], _field_constant(one)) for one in block.fields])

    def _add_group(self, layer: _Layer, group: Group, path: tuple[str, ...], name: str, dimension: str) -> None:
        part = self._part(group.dimension, group=group).name
        entry = self.names.groups[path]
        parts = [
            call("_Dimension", literal(dimension), f"{part}()", part, literal(name), f"lambda: {entry}"),
            call("_Entries", literal(name), f"lambda: {entry}", literal(dimension)),
        ]
        layer.fields += _all_since(parts, group.since_version)

    def _add_data(self, layer: _Layer, data: Data, name: str, length_name: str) -> None:
        form = literal(self.order + FORMATS[data.length_type.primitive.name])
        length_from = f"lambda packet: max(packet.{length_name} or 0, 0)"
        parts = [call("_DataLength", literal(length_name), form, literal(name))]
        if data.length_offset:
            parts.insert(0, _unused(0, data.length_offset, name))
        end = data.length_offset + data.length_type.size
        if data.data_offset > end:
            parts.append(_unused(end, data.data_offset - end, name))
        encoding = ENCODINGS.get(data.encoding.lower())
        if encoding:
            parts.append(call("_DataText", literal(name), '""', literal(encoding), length_from))
        else:
            parts.append(call("_Data", literal(name), 'b""', length_from=length_from))
        layer.fields += _all_since(parts, data.since_version)

    def _value(self, name: str, type_: Type, presence: Presence, usual: int | None = None) -> Listing:
        if isinstance(type_, Composite):
            part = self._part(type_).name
            return call("_Composite", literal(name), f"{part}()", part)
        is_optional = presence is Presence.OPTIONAL
        form = literal(self.order + FORMATS[type_.primitive.name])
        if isinstance(type_, FlagSet):
            bits = 8 * type_.size * (-1 if self.order == "<" and type_.size > 1 else 1)
            return call("_FlagsField", literal(name), "0", str(bits), row([literal(one) for one in _bit_names(type_)], "[]"))
        if isinstance(type_, Enum):
            has_null = is_optional and null_member_name(type_) is not None
            default = "None" if has_null else str(type_.values[0].value if type_.values and not is_optional else type_.null)
            return call("_Enum", literal(name), default, self._table(type_), form, *([str(type_.null)] if has_null else []))
        return self._encoded(name, type_, usual, is_optional=is_optional)

    def _encoded(self, name: str, type_: EncodedType, usual: int | None, *, is_optional: bool) -> Listing:
        form = literal(self.order + FORMATS[type_.primitive.name])
        null = [number(type_.null)] if is_optional else []
        if type_.primitive.name == "char" and type_.length == 1:
            return call("_Character", literal(name), "None" if is_optional else literal("\0"), form, *null)
        if type_.primitive.name == "char":
            encoding = ENCODINGS.get(type_.character_encoding.lower() or "ascii")
            if encoding is None:
                return _octets(name, type_)
            return call("_Text", literal(name), '""', str(type_.length), literal(encoding))
        if type_.length != 1:
            return self._row(name, type_)
        return call("_Number", literal(name), "None" if is_optional else str(usual or 0), form, *null)

    def _row(self, name: str, type_: EncodedType) -> Listing:
        if type_.primitive.name == "uint8":
            return _octets(name, type_)
        form = literal(f"{self.order}{type_.length}{FORMATS[type_.primitive.name]}")
        return call("_Numbers", literal(name), f"[0] * {type_.length}", form)


def _octets(name: str, type_: EncodedType) -> Listing:
    return call("_Octets", literal(name), f"bytes({type_.length})", str(type_.length))


def _all_since(parts: list[Listing], version: int) -> list[Listing]:
    return [call("_since", one, str(version)) for one in parts] if version else parts


def _class_name(name: str) -> str:
    kept = "".join(one if one.isalnum() and one.isascii() else "_" for one in name).strip("_") or "Part"
    return kept[:1].upper() + kept[1:] if not kept[0].isdigit() else f"N{kept}"


def _bit_names(flags: FlagSet) -> list[str]:
    """Names of the bits, lowest first; scapy joins them with +."""
    named = {one.bit: one.name.replace("+", "_") for one in flags.choices}
    return [named.get(bit, f"bit_{bit}") for bit in range(8 * flags.size)]


def _unused(at: int, size: int, of: str = "") -> Listing:
    name = f"{of}_unused_{at}" if of else f"unused_{at}"
    return call("_Octets", literal(name), f"bytes({size})", str(size))


def _member_constant(member: Member) -> Number | str | None:
    return member.type.constant if isinstance(member.type, EncodedType) and member.presence is Presence.CONSTANT else None


def _field_constant(field_: Field) -> Number | str | None:
    if field_.presence is not Presence.CONSTANT or not isinstance(field_.type, Enum):
        return field_.constant if field_.presence is Presence.CONSTANT else None
    return next((one.value for one in field_.type.values if one.name == field_.constant), None)


def _constants(pairs: list[tuple[str, Number | str | None]]) -> str:
    entries: list[tuple[str, str | Listing]] = [
        (literal(name), literal(value) if isinstance(value, str) else number(value)) for name, value in pairs if value is not None
    ]
    return laid_out("CONSTANTS: _ClassVar[dict[str, _Any]] = ", mapping(entries), "", 1) if entries else ""


def _about(named: Named) -> list[str]:
    deprecated = f"Deprecated since version {named.deprecated}." if named.deprecated else ""
    return docstring(named.description or named.name, 1, deprecated)
