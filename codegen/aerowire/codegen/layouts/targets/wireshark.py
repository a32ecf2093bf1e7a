"""Wireshark dissectors in Lua: one per schema with a table of frames that tell their type and their length.

The file is data, made here, and an engine that reads it (layouts/templates/wireshark_layout.lua.j2): names and counts of a schema never
become Lua code, so that no limit of Lua and no word of it is met.
"""

from __future__ import annotations

from collections import Counter

from aerowire.codegen.layouts.ir import Dynamic, Field, FlagSet, Repeat, Schema, Struct, Var, Variant
from aerowire.codegen.layouts.targets.base import LayoutProject
from aerowire.codegen.layouts.targets.scapy import table_of_frames
from aerowire.codegen.names import snake
from aerowire.codegen.primitives import Primitive
from aerowire.codegen.rendering.base import header, module_path, package_files, render
from aerowire.codegen.rendering.lua import Value, filter_name, lua_comment, lua_value

# Wireshark has a protocol `aeron` of its own; ours stands beside it.
PROTOCOLS = {"transport": ("aerowire", "Aeron")}
PACKAGE_DESCRIPTION = "Wireshark dissectors in Lua, one file per schema that describes packets or messages."


class WiresharkTarget:
    """Renders one dissector per schema that describes packets."""

    name = "wireshark"

    def render(self, project: LayoutProject) -> dict[str, str]:
        files = package_files(self.name, PACKAGE_DESCRIPTION)
        for schema in project.schemas:
            variant = table_of_frames(schema)
            if variant is not None:
                files[module_path(self.name, schema.package, ".lua")] = _module(project, schema, variant)
        return files


def _module(project: LayoutProject, schema: Schema, variant: Variant) -> str:
    rows = next((table.codes for table in project.tables.errors if table.name == "errors"), ())
    protocol, title = PROTOCOLS.get(schema.package, (filter_name(schema.package.lower()), schema.package))
    return render(
        "layouts/templates/wireshark_layout.lua.j2",
        header=header(f"{schema.package}.xml"),
        description=lua_comment(schema.description),
        protocol=protocol,
        schema=lua_value(_schema(schema, variant, protocol, title)),
        error_names=lua_value({row.code: row.name for row in rows}),
    )


def _schema(schema: Schema, variant: Variant, protocol: str, title: str) -> Value:
    base_name, type_name = variant.discriminator.split(".", 1)
    base = schema.struct(base_name)
    length, kind = base.length_member, base.field(type_name)
    filters = {case.struct: filter_name(case.value_name.lower()) for case in reversed(variant.cases) if case.struct}
    seen = Counter((field.name, field.primitive.name) for struct in schema.structs for field in struct.fields)
    return {
        "protocol": protocol,
        "title": title,
        "little": schema.byte_order != "bigEndian",
        "header": base.length,
        "type": {"offset": kind.offset, **_number(kind.primitive)},
        "length": {"offset": length.offset, **_number(length.primitive)} if length else None,
        "cases": {case.value: {"name": case.value_name, "struct": case.struct} for case in variant.cases if case.struct},
        "base": base_name,
        "structs": {
            struct.name: _struct(schema, struct, f"{protocol}.{filters.get(struct.name, snake(struct.name))}") for struct in schema.structs
        },
        "shared": {
            name: {"filter": f"{protocol}.{name}", "title": _title(name), **_number(_primitive(primitive, schema))}
            for (name, primitive), times in seen.items()
            if times > 1
        },
    }


def _primitive(name: str, schema: Schema) -> Primitive:
    return next(field.primitive for struct in schema.structs for field in struct.fields if field.primitive.name == name)


def _number(primitive: Primitive) -> dict[str, Value]:
    kind = "float" if primitive.is_float else "int" if primitive.signed else "uint"
    return {"kind": kind, "size": primitive.size}


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _struct(schema: Schema, struct: Struct, prefix: str) -> Value:
    length = struct.length_member
    summarised = [field for field in struct.fields if field.offset >= _header_end(struct) and field.name not in {"reserved_value"}]
    ranked = sorted(summarised, key=lambda field: {"stream_id": 0, "session_id": 1, "term_id": 2}.get(field.name, 3))
    return {
        "filter": prefix,
        "title": struct.name,
        "about": struct.description,
        "length": struct.length,
        "align": struct.align if struct.align > 1 else None,
        "length_field": length.name if length else None,
        "fields": [_field(schema, field, prefix) for field in sorted(struct.fields, key=lambda one: one.offset)],
        "moving": [_moving(member, prefix) for member in (*struct.fixed_variants, *struct.dynamic)],
        "summary": [{"field": field.name, "label": _label(field)} for field in ranked],
    }


def _header_end(struct: Struct) -> int:
    """Where what every struct of the kind has ends: behind the type."""
    return max([0, *(field.offset + field.size for field in struct.fields if field.role in {"length", "type"})])


def _label(field: Field) -> str:
    name = field.name.removesuffix("_id").removeprefix("consumption_")
    return {"term_offset": "offset"}.get(name, name).replace("_", " ")


def _field(schema: Schema, field: Field, prefix: str) -> Value:
    enum = next((one for one in schema.enums if one.name == field.kind), None)
    flags = next((one for one in schema.sets if one.name == field.kind), None)
    filter_text = f"{prefix}.{field.name}"
    return {
        "name": field.name,
        "filter": filter_text,
        "title": _title(field.name),
        "about": field.description,
        "offset": field.offset,
        **_number(field.primitive),
        "count": field.count,
        "tail": field.is_tail or None,
        "usual": field.default,
        "values": {value.value: value.name for value in enum.values} if enum else None,
        "flags": _flags(flags, filter_text) if flags else None,
    }


def _flags(flags: FlagSet, prefix: str) -> Value:
    """Bits, highest first."""
    ordered = sorted(flags.choices, key=lambda choice: -choice.value)
    return [
        {"bit": one.value.bit_length() - 1, "name": one.name, "filter": f"{prefix}.{one.name.lower()}", "about": one.description}
        for one in ordered
    ]


def _moving(member: Dynamic, prefix: str) -> Value:
    common: dict[str, Value] = {
        "name": member.name,
        "filter": f"{prefix}.{member.name}",
        "title": _title(member.name),
        "about": member.description,
        "offset": member.offset,
    }
    if isinstance(member, Var):
        return common | {
            "form": "var",
            "align": member.align if member.align > 1 else None,
            "prefix": _number(member.prefix) if member.prefix else None,
            "length_field": member.length_field,
            "max": member.max_length,
            "text": member.encoding or None,
        }
    if isinstance(member, Repeat):
        align = member.align if member.align > 1 else None
        count: dict[str, Value] = {"count_field": member.count_field, "count": member.count}
        return common | {"form": "repeat", "struct": member.struct, **count, "align": align}
    return common | {
        "form": "variant",
        "on": member.discriminator,
        "length": member.length,
        "cases": {case.value: _arm(case.value_name, case.struct, case.length) for case in member.cases},
    }


def _arm(name: str, struct: str | None, length: int | None) -> Value:
    """What a choice holds: a struct, an address of the Internet, or bytes."""
    address = "ipv4" if length == 4 and "IP4" in name else "ipv6" if length == 16 and "IP6" in name else None
    return {"struct": struct, "length": length, "address": address}
