"""Scapy layers: one per struct of a table of frames that tell their type and their length, and one per struct that they repeat."""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.codegen.layouts.ir import Dynamic, Enum, Field, FlagSet, Repeat, Schema, Struct, Var, Variant
from aerowire.codegen.layouts.targets.base import LayoutProject
from aerowire.codegen.names import upper
from aerowire.codegen.primitives import FORMATS
from aerowire.codegen.rendering.base import header, module_path, package_files, render

RESERVED = {"payload": "data", "name": "entry_name"}  # names that a scapy packet uses itself


@dataclass(frozen=True)
class LayerView:
    """A layer; `fields` are expressions, in wire order."""

    name: str
    description: str
    fields: tuple[str, ...]
    base: str
    header_length: int
    length_name: str
    length_offset: int
    length_format: str
    align: int
    is_frame: bool
    is_stream: bool
    has_data: bool


class ScapyTarget:
    """Renders one module per schema that describes packets."""

    name = "scapy"

    def render(self, project: LayoutProject) -> dict[str, str]:
        files = package_files(self.name, "Scapy layers, one module per schema that describes packets.")
        for schema in project.schemas:
            variant = table_of_frames(schema)
            if variant is not None:
                files[module_path(self.name, schema.package)] = _module(schema, variant)
        return files


def table_of_frames(schema: Schema) -> Variant | None:
    """The table of types whose structs tell their type and their length: those are packets."""
    for variant in schema.variants:
        base, _, field = variant.discriminator.partition(".")
        if field and schema.struct(base).length_member is not None:
            return variant
    return None


def _module(schema: Schema, variant: Variant) -> str:
    base_name, type_name = variant.discriminator.split(".", 1)
    base = schema.struct(base_name)
    type_field = base.field(type_name)
    names = list(dict.fromkeys(case.struct for case in variant.cases if case.struct and case.struct != base_name))
    aligned = [schema.struct(name) for name in names if schema.struct(name).align > 1]
    entries = [member.struct for name in names for member in schema.struct(name).dynamic if isinstance(member, Repeat)]
    order = ">" if schema.byte_order == "bigEndian" else "<"
    length = base.length_member
    return render(
        "layouts/templates/scapy.py.j2",
        header=header(f"{schema.package}.xml"),
        description=schema.description,
        base=_layer(schema, base, order, "Layer", is_frame=True),
        entries=[_layer(schema, schema.struct(name), order, "Layer", is_frame=False) for name in dict.fromkeys(entries)],
        layers=[_layer(schema, schema.struct(name), order, base_name, is_frame=True) for name in names],
        cases=[(case.value, case.value_name, case.struct) for case in variant.cases if case.struct],
        enums=[(upper(one.name), [(value.value, value.name) for value in one.values]) for one in schema.enums],
        type_offset=type_field.offset,
        type_format=order + FORMATS[type_field.primitive.name],
        length_offset=length.offset if length else 0,
        length_format=order + FORMATS[length.primitive.name] if length else "",
        has_data=any(_has_data(struct) for struct in aligned),
        stream_align=max([1, *(struct.align for struct in aligned)]),
        stream_types=[case.value for case in variant.cases if case.struct and schema.struct(case.struct) in aligned],
        stream_header=min([struct.length for struct in aligned], default=0),
    )


def _layer(schema: Schema, struct: Struct, order: str, base: str, *, is_frame: bool) -> LayerView:
    length = struct.length_member
    members: list[tuple[int, str]] = [(field.offset, _field(schema, struct, field, order)) for field in struct.fields]
    fields = [text for _, text in sorted(members)]
    for member in struct.dynamic:
        fields += _dynamic(struct, member, order)
    if struct.align > 1:
        fields.append(f'_padding("padding", {struct.align})')
    return LayerView(
        name=struct.name,
        description=struct.description,
        fields=tuple(fields),
        base=base,
        header_length=struct.length,
        length_name=length.name if length else "",
        length_offset=length.offset if length else 0,
        length_format=order + FORMATS[length.primitive.name] if length else "",
        align=struct.align,
        is_frame=is_frame,
        is_stream=is_frame and struct.align > 1,
        has_data=_has_data(struct),
    )


def _has_data(struct: Struct) -> bool:
    """Does it end with bytes that are somebody else's, under the name that `payload` goes by here?"""
    return any(isinstance(one, Var) and RESERVED.get(one.name) == "data" for one in struct.dynamic)


def _field(schema: Schema, struct: Struct, field: Field, order: str) -> str:
    name = RESERVED.get(field.name, field.name)
    form = order + FORMATS[field.primitive.name]
    length_of = next((one for one in struct.dynamic if isinstance(one, Var) and one.length_field == field.name), None)
    if length_of is not None:
        text = RESERVED.get(length_of.name, length_of.name)
        return f'FieldLenField("{name}", None, fmt="{form}", length_of="{text}")'
    if field.role == "length":
        return f'Field("{name}", None, "{form}")'
    default = struct.type_value if field.role == "type" and struct.type_value is not None else field.default or 0
    if field.is_tail:
        return f'_tail("{name}", "{form}", {field.offset + field.size})'
    kinds: tuple[Enum | FlagSet, ...] = (*schema.enums, *schema.sets)
    kind = next((one for one in kinds if one.name == field.kind), None)
    if isinstance(kind, Enum):
        return f'EnumField("{name}", {default}, {upper(kind.name)}, "{form}")'
    if isinstance(kind, FlagSet) and field.primitive.size == 1:
        return f'FlagsField("{name}", {default:#04x}, 8, {_flag_names(kind)!r})'
    return f'Field("{name}", {default}, "{form}")'


def _flag_names(flags: FlagSet) -> list[str]:
    """Names of the bits, lowest first."""
    names = {choice.value: choice.name for choice in flags.choices}
    return [names.get(1 << bit, f"BIT_{bit}") for bit in range(8 * flags.primitive.size)]


def _dynamic(struct: Struct, member: Dynamic, order: str) -> list[str]:
    name = RESERVED.get(member.name, member.name)
    if isinstance(member, Var):
        if member.prefix is not None:
            form = order + FORMATS[member.prefix.name]
            return [
                f'FieldLenField("{name}_length", None, fmt="{form}", length_of="{name}")',
                f'StrLenField("{name}", b"", length_from=lambda packet: max(packet.{name}_length, 0))',
            ]
        if member.length_field is not None:
            return [f'StrLenField("{name}", b"", length_from=lambda packet: max(packet.{member.length_field}, 0))']
        return [f'StrLenField("{name}", b"", length_from=lambda packet: packet.body_length({struct.length}))']
    if isinstance(member, Repeat):
        extent = f"count_from=lambda packet: {member.count}"
        if member.count is None:
            extent = f"length_from=lambda packet: packet.body_length({struct.length})"
        return [f'PacketListField("{name}", [], {member.struct}, {extent})']
    lengths = {case.value: case.length for case in member.cases}
    return [f'StrLenField("{name}", b"", length_from=lambda packet: {lengths!r}.get(packet.{member.discriminator}, 0))']
