"""A reference of the project's layouts as Markdown: structs drawn byte by byte, enums, sets, tables of types, regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aerowire.codegen.layouts.ir import Dynamic, Enum, Field, FlagSet, Region, Repeat, Schema, Section, Struct, Var, Variant
from aerowire.codegen.layouts.targets.base import LayoutProject
from aerowire.codegen.rendering.base import DOCUMENTS
from aerowire.codegen.rendering.drawing import Cell, draw
from aerowire.codegen.rendering.markdown_text import anchor, code, drawing, heading, link, page, prose, table
from aerowire.codegen.tables.targets.markdown_tables import linked

FIELD_TITLES = ("offset", "length", "field", "type", "written unasked", "description")


def layout_pages(project: LayoutProject) -> dict[str, str]:
    """The page of each layout schema, by path."""
    return {
        f"{DOCUMENTS}/{schema.package}.md": linked(page(f"spec/{schema.package}.xml", list(_page(schema))), project.tables)
        for schema in project.schemas
    }


def _page(schema: Schema) -> Iterator[str]:
    yield from [f"# {schema.package}", "", prose(schema.description), ""]
    order = "big-endian" if schema.byte_order == "bigEndian" else "little-endian"
    yield from [f"Layouts of schema {schema.id}; numbers are {order}. Offsets count bytes from the start of the struct.", ""]
    for title, nodes in _parts(schema):
        if nodes:
            yield from [f"{title}: {', '.join(link(name, identifier) for name, identifier in nodes)}.", ""]
    if schema.constants:
        yield from heading(2, "Constants", "constants")
        rows = [[code(one.name), code(one.type), code(str(one.value)), prose(one.description)] for one in schema.constants]
        yield from table(["constant", "type", "value", "description"], rows)
    for variant in schema.variants:
        yield from _types(schema, variant)
    for struct in schema.structs:
        yield from _struct(schema, struct)
    for enum in schema.enums:
        yield from _enum(enum)
    for flags in schema.sets:
        yield from _set(flags)
    for region in schema.regions:
        yield from _region(region)


def _parts(schema: Schema) -> list[tuple[str, list[tuple[str, str]]]]:
    """What the page holds, as pairs of a name and an anchor."""
    return [
        ("Tables of types", [(one.name, anchor("types", one.name)) for one in schema.variants]),
        ("Structs", [(one.name, anchor("struct", one.name)) for one in schema.structs]),
        ("Enums", [(one.name, anchor("type", one.name)) for one in schema.enums]),
        ("Sets", [(one.name, anchor("type", one.name)) for one in schema.sets]),
        ("Files and mappings", [(one.name, anchor("region", one.name)) for one in schema.regions]),
    ]


def _types(schema: Schema, variant: Variant) -> Iterator[str]:
    yield from heading(2, variant.name, anchor("types", variant.name))
    is_enum = any(one.name == variant.discriminator for one in schema.enums)
    chosen = link(variant.discriminator, anchor("type", variant.discriminator)) if is_enum else code(variant.discriminator)
    yield from [f"{prose(variant.description)} Chosen by {chosen}.", ""]
    rows = [[str(one.value), code(one.value_name), _arm(one.struct, one.length)] for one in variant.cases]
    yield from table(["value", "name", "layout"], rows)


def _arm(struct: str | None, length: int | None) -> str:
    return link(struct, anchor("struct", struct)) if struct else f"{length} bytes" if length is not None else ""


def _struct(schema: Schema, struct: Struct) -> Iterator[str]:
    yield from heading(2, struct.name, anchor("struct", struct.name))
    yield from [prose(struct.description), ""]
    facts = [f"{struct.length} bytes"]
    facts += [f"{struct.full_length} with what may follow"] if struct.full_length != struct.length else []
    facts += ["then what is behind them"] if struct.dynamic else []
    facts += [f"aligned to {struct.align}"] if struct.align > 1 else []
    facts += [f"type {struct.type_value}"] if struct.type_value is not None else []
    facts += [f"begins as {link(struct.parent, anchor('struct', struct.parent))}"] if struct.parent else []
    yield from [f"{'; '.join(facts)}.", ""]
    cells = [Cell(one.name, one.offset, one.size) for one in struct.fields]
    cells += [Cell(one.name, one.offset or 0, one.length or 0) for one in struct.fixed_variants]
    yield from drawing(draw(cells, struct.full_length, [_behind(one) for one in struct.dynamic]))
    members = [(one.offset, _field(schema, one)) for one in struct.fields]
    members += [(one.offset or 0, _chosen(one)) for one in struct.fixed_variants]
    yield from table(FIELD_TITLES, [row for _, row in sorted(members, key=lambda member: member[0])])
    for field in struct.fields:
        if field.bits:
            yield from [f"Bits of {code(field.name)}:", ""]
            bits = [[f"{one.low}-{one.high}", code(one.name), code(one.primitive.name), prose(one.description)] for one in field.bits]
            yield from table(["bits", "name", "read as", "description"], bits)
    if struct.dynamic:
        yield from ["Behind the fixed part, in this order:", ""]
    yield from table(["member", "what it is", "description"], [_moving(one) for one in struct.dynamic])


def _field(schema: Schema, field: Field) -> list[str]:
    kinds: Sequence[Enum | FlagSet] = (*schema.enums, *schema.sets)
    kind = next((one for one in kinds if one.name == field.kind), None)
    count = f"[{field.count}]" if field.count is not None else ""
    shown = code(f"{field.primitive.name}{count}")
    if kind is not None:
        shown += f" {link(kind.name, anchor('type', kind.name))}"
    about = [prose(field.description)]
    about += ["Only in structs that are long enough."] if field.is_tail else []
    about += [f"Access: {field.access}."] if field.access else []
    default = "" if field.default is None else _default(kind, field.default)
    return [str(field.offset), str(field.size), code(field.name), shown, default, " ".join(about)]


def _default(kind: Enum | FlagSet | None, default: int) -> str:
    named = () if kind is None else kind.values if isinstance(kind, Enum) else (*kind.choices, *kind.combinations)
    return code(next((one.name for one in named if one.value == default), str(default)))


def _chosen(variant: Variant) -> list[str]:
    arms = _arms(variant)
    about = f"{prose(variant.description)} Chosen by {code(variant.discriminator)}{f': {arms}' if arms else ''}."
    return [str(variant.offset), str(variant.length), code(variant.name), "", "", about]


def _behind(member: Dynamic) -> str:
    if isinstance(member, Repeat):
        return f"{member.name}: entries of {member.struct}"
    if isinstance(member, Variant):
        return f"{member.name}: chosen by {member.discriminator}"
    prefix = f"{member.prefix.name} length, then " if member.prefix else ""
    return f"{member.name}: {prefix}bytes"


def _moving(member: Dynamic) -> list[str]:
    return [code(member.name), _kind(member), prose(member.description)]


def _kind(member: Dynamic) -> str:
    if isinstance(member, Var):
        length = f"length in {code(member.length_field)}" if member.length_field else "until the end"
        parts = [f"length as {code(member.prefix.name)}" if member.prefix else length, member.encoding or "bytes"]
        parts += [f"at most {member.max_length}"] if member.max_length is not None else []
        parts += [f"starts on a multiple of {member.align}"] if member.align > 1 else []
        return ", ".join(parts)
    if isinstance(member, Repeat):
        count = f"as many as {code(member.count_field)}" if member.count_field else "until the end"
        count = count if member.count is None else f"{member.count} of them"
        return f"{link(member.struct, anchor('struct', member.struct))}, {count}"
    return f"by {code(member.discriminator)}: {_arms(member)}"


def _arms(variant: Variant) -> str:
    """Each layout once, with the types that have it."""
    types: dict[str, list[str]] = {}
    for one in variant.cases:
        types.setdefault(_arm(one.struct, one.length), []).append(code(one.value_name))
    return "; ".join(f"{layout or 'nothing'} for {', '.join(names)}" for layout, names in types.items())


def _enum(enum: Enum) -> Iterator[str]:
    yield from heading(2, f"enum {enum.name}", anchor("type", enum.name))
    yield from [f"{prose(enum.description)} Stored as {code(enum.primitive.name)}.", ""]
    yield from table(["value", "name", "description"], [[str(one.value), code(one.name), prose(one.description)] for one in enum.values])


def _set(flags: FlagSet) -> Iterator[str]:
    yield from heading(2, f"set {flags.name}", anchor("type", flags.name))
    yield from [f"{prose(flags.description)} Stored as {code(flags.primitive.name)}.", ""]
    rows = [
        [str(one.value.bit_length() - 1), code(f"{one.value:#x}"), code(one.name), prose(one.description)]
        for one in sorted(flags.choices, key=lambda choice: choice.value)
    ]
    rows += [["", code(f"{one.value:#x}"), code(one.name), prose(one.description)] for one in flags.combinations]
    yield from table(["bit", "mask", "name", "description"], rows)


def _region(region: Region) -> Iterator[str]:
    yield from heading(2, region.name, anchor("region", region.name))
    yield from [prose(region.description), ""]
    whole = f" The whole is aligned to {code(region.align)}." if region.align else ""
    fields = f" Lengths are fields of {link(region.fields, anchor('struct', region.fields))}." if region.fields else ""
    yield from [f"Sections, one behind the other.{fields}{whole}", ""]
    yield from table(["section", "length", "holds", "description"], [_section(one) for one in region.sections])


def _section(section: Section) -> list[str]:
    length = str(section.constant) if section.constant is not None else ""
    if section.field is not None:
        length = f"{section.times} times {code(section.field)}" if section.times != 1 else code(section.field)
    if section.align > 1 and length:
        length += f", aligned to {section.align}"
    holds = link(section.struct, anchor("struct", section.struct)) if section.struct else ""
    holds = holds or (link(section.region, anchor("region", section.region)) if section.region else "")
    return [code(section.name), length, holds, prose(section.description)]
