"""Python flyweights: a decoder and an encoder over any buffer for each struct, the enums, and the dispatch tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aerowire.codegen.layouts.ir import Constant, Dynamic, Field, Region, Repeat, Schema, Struct, Var, Variant
from aerowire.codegen.layouts.targets.base import LayoutProject
from aerowire.codegen.mark import mark
from aerowire.codegen.names import snake, upper
from aerowire.codegen.primitives import FORMATS, Primitive
from aerowire.codegen.rendering.base import header, module_path, package_files, render


@dataclass(frozen=True)
class NumberView:
    """A scalar field, or an array of numbers (`count`)."""

    name: str
    description: str
    codec: str
    offset: int
    end: int
    type: str
    count: int | None
    is_tail: bool
    is_bytes: bool


@dataclass(frozen=True)
class DynamicView:
    """A member behind the fixed part: how its extent is found, and how its value is made."""

    name: str
    kind: str
    description: str
    previous: str | None
    offset: int
    align: int
    prefix: str | None
    prefix_size: int
    length_field: str | None
    length_codec: str | None
    length_offset: int
    encoding: str
    max_length: int | None
    discriminator: str | None
    lengths: tuple[tuple[int, int], ...]
    entry: str
    count: int | None
    count_field: str | None
    count_codec: str | None
    count_offset: int

    @property
    def type(self) -> str:
        if self.kind == "repeat":
            return f"list[{self.entry}Decoder]"
        return "str" if self.encoding else "memoryview"

    @property
    def input_type(self) -> str:
        if self.kind == "repeat":
            return "Iterable[bytes]"
        return "str | bytes" if self.encoding else "Buffer"

    @property
    def empty(self) -> str:
        """What stands for no such member; nothing where there is always one."""
        if self.kind == "repeat":
            return "()" if self.count is None else ""
        return '""' if self.encoding else 'b""'


@dataclass(frozen=True)
class Declaration:
    """A member as a descriptor: the call that makes it; one that is writable has a twin of that name for encoders."""

    name: str
    description: str
    descriptor: str
    arguments: str
    after: str | None
    is_writable: bool

    @property
    def expression(self) -> str:
        return f"{self.descriptor}({self.arguments}{f', after={self.after}' if self.after else ''})"

    def writable(self, owner: str) -> str:
        """The writable twin; what it follows is found in the class that `owner` names."""
        return f"Writable{self.descriptor}({self.arguments}{f', after={owner}.{self.after}' if self.after else ''})"


@dataclass(frozen=True)
class KeyView:
    """A variant with a fixed extent: the bytes, and the decoder that the discriminator announces."""

    name: str
    description: str
    offset: int
    length: int
    discriminator: str
    cases: tuple[tuple[int, str], ...]

    @property
    def decoders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f"{struct}Decoder" for _, struct in self.cases))


@dataclass(frozen=True)
class Argument:
    """A keyword of `encode`: its type, its default if it has one, and the expression that goes into the fixed part."""

    name: str
    type: str
    default: str
    packed: str


@dataclass(frozen=True)
class StructView:
    name: str
    description: str
    constants: tuple[tuple[str, int, str], ...]
    length: int
    full_length: int
    align: int
    format: str
    numbers: tuple[NumberView, ...]
    keys: tuple[KeyView, ...]
    dynamic: tuple[DynamicView, ...]
    length_member: NumberView | None
    declarations: tuple[Declaration, ...]
    arguments: tuple[Argument, ...]

    @property
    def tails(self) -> tuple[NumberView, ...]:
        return tuple(number for number in self.numbers if number.is_tail)

    @property
    def tail_ends(self) -> tuple[int, ...]:
        return tuple(tail.end for tail in self.tails)

    @property
    def fixed_arguments(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.packed)

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(one.name for group in (self.numbers, self.keys, self.dynamic) for one in group)


@dataclass(frozen=True)
class BitsView:
    function: str
    parts: tuple[tuple[str, int, int, int, str], ...]


@dataclass(frozen=True)
class RegionView:
    name: str
    description: str
    parameters: tuple[str, ...]
    sections: tuple[tuple[str, str, str, str], ...]
    total: str


class FlyweightsTarget:
    """Renders one module per schema, and the base classes that they share."""

    name = "flyweights"

    def render(self, project: LayoutProject) -> dict[str, str]:
        files = package_files(self.name, "Decoders and encoders over any buffer, one module per schema.")
        files[module_path(self.name, "base")] = render("layouts/templates/flyweights_base.py.j2", header=mark())
        for schema in project.schemas:
            files[module_path(self.name, schema.package)] = _module(schema)
        return files


def _module(schema: Schema) -> str:
    structs = [_struct(schema, struct) for struct in _leaves_first(schema)]
    codecs = sorted({FORMATS[primitive.name] for primitive in _primitives(schema)})
    return render(
        "layouts/templates/flyweights.py.j2",
        header=header(f"{schema.package}.xml"),
        imports=_imports(structs),
        schema=schema,
        order=">" if schema.byte_order == "bigEndian" else "<",
        codecs=codecs,
        constants=[(one.name, _constant_type(one), one.value, one.description) for one in schema.constants],
        structs=structs,
        bits=[view for struct in schema.structs for view in _bits(struct)],
        dispatch=[(upper(variant.name), variant, _dispatch_cases(variant)) for variant in schema.variants],
        regions=[_region(region) for region in schema.regions],
    )


def _imports(structs: list[StructView]) -> list[str]:
    names = {"Flyweight", "align", "text_bytes"}
    for declaration in (one for struct in structs for one in struct.declarations):
        names.add(declaration.descriptor)
        names |= {f"Writable{declaration.descriptor}"} if declaration.is_writable else set()
    return sorted(names)


def _constant_type(constant: Constant) -> str:
    return "str" if isinstance(constant.value, str) else "int"


def _leaves_first(schema: Schema) -> list[Struct]:
    """Structs that others hold come before them, so that names are defined when used."""
    return list(schema.structs)


def _primitives(schema: Schema) -> list[Primitive]:
    found = [field.primitive for struct in schema.structs for field in struct.fields]
    found += [member.prefix for struct in schema.structs for member in struct.dynamic if isinstance(member, Var) and member.prefix]
    return found


def _codec(primitive: Primitive) -> str:
    return f"_{FORMATS[primitive.name]}"


def _type(field: Field) -> str:
    if field.count is None:
        return "float" if field.primitive.is_float else "int"
    if field.primitive.name in {"uint8", "char"}:
        return "memoryview"
    return "tuple[float, ...]" if field.primitive.is_float else "tuple[int, ...]"


def _declarations(struct: Struct) -> list[Declaration]:
    found = [_declaration(_number(field)) for field in struct.fields]
    for variant in struct.fixed_variants:
        arguments = f"{variant.offset}, {variant.length}"
        found.append(Declaration(variant.name, variant.description, "Octets", arguments, after=None, is_writable=True))
    return found + [_moving(_dynamic(struct, index)) for index in range(len(struct.dynamic))]


def _declaration(number: NumberView) -> Declaration:
    descriptor = "TailInteger" if number.is_tail else "Real" if number.type == "float" else "Integer"
    descriptor = "Octets" if number.is_bytes else "Integers" if number.count is not None else descriptor
    arguments = f"{number.offset}, {number.count if number.is_bytes else number.codec}"
    return Declaration(number.name, number.description, descriptor, arguments, after=None, is_writable=True)


def _moving(view: DynamicView) -> Declaration:
    """The declaration of a member that moves; the arguments say how its place and its length are found."""
    place = str(view.offset)
    if view.kind == "repeat":
        place = f"{view.entry}Decoder, {place}"
    arguments = [place, *([f"alignment={view.align}"] if view.align > 1 else [])]
    if view.count is not None:
        arguments.append(f"count={view.count}")
    elif view.count_field:
        arguments.append(f"count=({view.count_offset}, {view.count_codec})")
    elif view.prefix is not None:
        arguments.append(f"prefix={view.prefix}")
    elif view.length_field is not None:
        arguments.append(f"length=({view.length_offset}, {view.length_codec})")
    elif view.kind == "variant":
        arguments.append(f"choice=({view.length_offset}, {view.length_codec}, {dict(view.lengths)!r})")
    descriptor = "Entries" if view.kind == "repeat" else {"": "Data", "ascii": "AsciiText", "utf-8": "Text"}[view.encoding]
    return Declaration(view.name, view.description, descriptor, ", ".join(arguments), view.previous, view.kind != "repeat")


def _number(field: Field) -> NumberView:
    is_bytes = field.count is not None and field.primitive.name in {"uint8", "char"}
    codec = _codec(field.primitive) if field.count is None else f"_{field.count}{FORMATS[field.primitive.name]}"
    return NumberView(
        field.name, field.description, codec, field.offset, field.offset + field.size, _type(field), field.count, field.is_tail, is_bytes
    )


def _struct(schema: Schema, struct: Struct) -> StructView:
    constants = [(f"{field.name.upper()}_OFFSET", field.offset, field.description) for field in struct.fields]
    constants += [(f"{one.name.upper()}_OFFSET", one.offset or 0, one.description) for one in struct.fixed_variants]
    constants += [(f"{one.name.upper()}_OFFSET", one.offset, one.description) for one in struct.dynamic if one.offset is not None]
    length_field = struct.length_member
    return StructView(
        name=struct.name,
        description=struct.description,
        constants=tuple(constants),
        length=struct.length,
        full_length=struct.full_length,
        align=struct.align,
        format=_format(schema, struct),
        numbers=tuple(_number(field) for field in struct.fields),
        keys=tuple(_key(variant) for variant in struct.fixed_variants),
        dynamic=tuple(_dynamic(struct, index) for index in range(len(struct.dynamic))),
        length_member=None if length_field is None else _number(length_field),
        declarations=tuple(_declarations(struct)),
        arguments=tuple(_arguments(struct)),
    )


def _format(schema: Schema, struct: Struct) -> str:
    """The `struct` format of the fixed part, gaps as pad bytes."""
    out = ">" if schema.byte_order == "bigEndian" else "<"
    at = 0
    pieces: list[tuple[int, int, str]] = []
    for field in struct.fixed_fields:
        code = FORMATS[field.primitive.name]
        is_bytes = field.count is not None and code == "B"
        pieces.append((field.offset, field.size, f"{field.count}s" if is_bytes else f"{field.count or ''}{code}"))
    pieces += [(one.offset or 0, one.length or 0, f"{one.length}s") for one in struct.fixed_variants]
    for offset, size, code in sorted(pieces):
        out += f"{offset - at}x" if offset > at else ""
        out += code
        at = offset + size
    return out + (f"{struct.length - at}x" if struct.length > at else "")


def _arguments(struct: Struct) -> list[Argument]:
    """Keywords of `encode`, those of the fixed part in the order of their offsets."""
    sources = {one.length_field: f"len(_{one.name})" for one in struct.dynamic if isinstance(one, Var) and one.length_field}
    sources |= {one.count_field: f"len(_{one.name})" for one in struct.dynamic if isinstance(one, Repeat) and one.count_field}
    fixed: list[tuple[int, Argument]] = []
    for field in struct.fixed_fields:
        fixed.append((field.offset, _fixed_argument(struct, field, sources)))
    for variant in struct.fixed_variants:
        fixed.append((variant.offset or 0, Argument(variant.name, "bytes", 'b""', variant.name)))
    arguments = [argument for _, argument in sorted(fixed, key=lambda pair: pair[0])]
    for field in struct.tail_fields:
        default = "None" if field.default is None else str(field.default)
        arguments.append(Argument(field.name, "int | None", default, ""))
    for index, _member in enumerate(struct.dynamic):
        view = _dynamic(struct, index)
        arguments.append(Argument(view.name, view.input_type, view.empty, ""))
    return arguments


def _fixed_argument(struct: Struct, field: Field, sources: dict[str, str]) -> Argument:
    """The keyword of a fixed field; `sources` holds the expressions of the fields that are computed when None."""
    name = field.name
    if field.count is not None:
        is_bytes = FORMATS[field.primitive.name] == "B"
        return Argument(name, "bytes", 'b""', name) if is_bytes else Argument(name, "Sequence[int]", repr((0,) * field.count), f"*{name}")
    computed = "_total" if field.role == "length" else sources.get(name)
    if computed is not None:
        return Argument(name, "int | None", "None", f"{computed} if {name} is None else {name}")
    default = struct.type_value if field.role == "type" and struct.type_value is not None else field.default or 0
    return Argument(name, "float" if field.primitive.is_float else "int", str(default), name)


def _key(variant: Variant) -> KeyView:
    cases = tuple((case.value, case.struct) for case in variant.cases if case.struct is not None)
    return KeyView(variant.name, variant.description, variant.offset or 0, variant.length or 0, variant.discriminator, cases)


def _dynamic(struct: Struct, index: int) -> DynamicView:
    member: Dynamic = struct.dynamic[index]
    var = member if isinstance(member, Var) else None
    repeat = member if isinstance(member, Repeat) else None
    variant = member if isinstance(member, Variant) else None
    length_field = struct.field(var.length_field) if var and var.length_field else None
    length_field = struct.field(variant.discriminator) if variant else length_field
    count_field = struct.field(repeat.count_field) if repeat and repeat.count_field else None
    prefix = var.prefix if var else None
    return DynamicView(
        name=member.name,
        kind="var" if var else "repeat" if repeat else "variant",
        description=member.description,
        previous=struct.dynamic[index - 1].name if index else None,
        offset=(member.offset or 0) - (prefix.size if prefix and not index else 0),
        align=1 if isinstance(member, Variant) else member.align,
        prefix=_codec(prefix) if prefix else None,
        prefix_size=prefix.size if prefix else 0,
        length_field=length_field.name if length_field and var else None,
        length_codec=_codec(length_field.primitive) if length_field else None,
        length_offset=length_field.offset if length_field else 0,
        encoding=var.encoding if var else "",
        max_length=var.max_length if var else None,
        discriminator=variant.discriminator if variant else None,
        lengths=tuple((case.value, case.length or 0) for case in variant.cases) if variant else (),
        entry=repeat.struct if repeat else "",
        count=repeat.count if repeat else None,
        count_field=count_field.name if count_field else None,
        count_codec=_codec(count_field.primitive) if count_field else None,
        count_offset=count_field.offset if count_field else 0,
    )


def _bits(struct: Struct) -> list[BitsView]:
    found = []
    for field in struct.fields:
        parts = []
        for bits in field.bits:
            width = bits.high - bits.low + 1
            sign = 1 << (width - 1) if bits.primitive.signed and width == 8 * bits.primitive.size else 0
            parts.append((bits.name, bits.low, (1 << width) - 1, sign, bits.description))
        if parts:
            wide = 1 << (8 * field.primitive.size - 1) if field.primitive.signed else 0
            found.append(BitsView(f"{snake(struct.name)}_{field.name}", (*parts, ("", 0, 0, wide, ""))))
    return found


def _dispatch_cases(variant: Variant) -> Sequence[tuple[int, str]]:
    return [(case.value, case.struct) for case in variant.cases if case.struct is not None]


def _region(region: Region) -> RegionView:
    sections = []
    terms: list[str] = []
    for section in region.sections:
        term = str(section.constant) if section.field is None else f"self.{section.field}"
        term = f"{section.times} * {term}" if section.times > 1 else term
        term = f"align({term}, {section.align})" if section.align > 1 else term
        sections.append((section.name, " + ".join(terms) or "0", term, section.description))
        terms.append(term)
    total = " + ".join(terms)
    total = f"align({total}, self.{region.align})" if region.align else total
    return RegionView(region.name, region.description, region.parameters, tuple(sections), total)
