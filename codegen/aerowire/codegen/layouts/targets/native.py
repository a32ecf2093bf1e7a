"""Cython `.pxd` modules: offsets, constants and inline accessors for the native core.

Loads and stores go through memcpy, which compiles to one move and minds no alignment. The accessors are C functions that
Cython only sees declared: as Cython functions they were half of what compiling a module cost, most of them unused in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.codegen.layouts.ir import Enum, Field, FlagSet, Region, Schema, Section, Struct
from aerowire.codegen.layouts.targets.base import LayoutProject
from aerowire.codegen.names import snake, upper
from aerowire.codegen.primitives import Primitive
from aerowire.codegen.rendering.base import header, module_path, package_files, render

C_TYPES = {"char": "uint8_t", "float": "float", "double": "double"}
INT32_MAX = (1 << 31) - 1


@dataclass(frozen=True)
class NamedNumber:
    name: str
    value: int
    description: str
    c_type: str = "int64_t"

    @property
    def is_wide(self) -> bool:
        """An enum constant is an int; what does not fit becomes a macro."""
        return not -INT32_MAX - 1 <= self.value <= INT32_MAX

    @property
    def c_literal(self) -> str:
        if self.value == -(1 << 63):
            return "(-INT64_C(9223372036854775807) - 1)"
        return f"UINT64_C({self.value})" if self.c_type == "uint64_t" else f"INT64_C({self.value})"


@dataclass(frozen=True)
class Accessor:
    name: str
    setter: str
    offset: int
    c_type: str
    description: str
    is_array: bool


@dataclass(frozen=True)
class BitAccessor:
    name: str
    c_type: str
    raw_type: str
    unsigned_raw: str
    shift: int
    mask: str
    description: str


@dataclass(frozen=True)
class Packer:
    name: str
    raw_type: str
    unsigned_raw: str
    parts: tuple[BitAccessor, ...]
    arguments: tuple[str, ...]

    @property
    def parameters(self) -> str:
        return ", ".join(f"{part.c_type} {argument}" for part, argument in zip(self.parts, self.arguments, strict=True))


@dataclass(frozen=True)
class RegionFunction:
    name: str
    parameters: str
    terms: str
    description: str


@dataclass(frozen=True)
class Block:
    title: str
    description: str
    numbers: tuple[NamedNumber, ...]
    accessors: tuple[Accessor, ...] = ()
    bit_accessors: tuple[BitAccessor, ...] = ()
    packers: tuple[Packer, ...] = ()
    functions: tuple[RegionFunction, ...] = ()

    @property
    def has_functions(self) -> bool:
        return bool(self.accessors or self.bit_accessors or self.packers or self.functions)


class NativeTarget:
    """Renders one `.pxd` per schema and one per table with numbers."""

    name = "native"

    def render(self, project: LayoutProject) -> dict[str, str]:
        files = package_files(self.name, "Inline accessors for the native core; cimport them, there is nothing to import.")
        for schema in project.schemas:
            blocks = [_constants(schema), *map(_enum, schema.enums), *map(_set, schema.sets)]
            blocks += [*map(_struct, schema.structs), *(_region(region, _prefix(schema.package)) for region in schema.regions)]
            files[module_path(self.name, schema.package, ".pxd")] = _module(f"{schema.package}.xml", schema.description, blocks)
        tables = project.tables
        if tables.counters is not None:
            system = _table("SystemCounter", "SYSTEM_COUNTER", [(row.name, row.id, row.description) for row in tables.counters.system])
            types = _table("CounterType", "COUNTER_TYPE", [(row.name, row.id, row.description) for row in tables.counters.types])
            files[module_path(self.name, "counters", ".pxd")] = _module("counters.xml", tables.counters.description, [system, types])
        for errors in tables.errors:
            codes = _table(errors.enum_name, upper(errors.enum_name), [(row.name, row.code, row.description) for row in errors.codes])
            files[module_path(self.name, errors.name, ".pxd")] = _module(f"{errors.name}.xml", errors.description, [codes])
        return files


def _module(source: str, description: str, blocks: list[Block]) -> str:
    guard = source.removesuffix(".xml")
    return render(
        "layouts/templates/native.pxd.j2", header=header(source), description=description, blocks=blocks, guard=guard, prefix=_prefix(guard)
    )


def _prefix(package: str) -> str:
    """What the C names of a package start with: C has one namespace for all of them."""
    return f"aerowire_{package}_"


def c_type(primitive: Primitive) -> str:
    return C_TYPES.get(primitive.name, f"{primitive.name}_t")


def _table(title: str, prefix: str, rows: list[tuple[str, int, str]]) -> Block:
    return Block(title, "", tuple(NamedNumber(f"{prefix}_{name}", value, text) for name, value, text in rows))


def _constants(schema: Schema) -> Block:
    found = [
        NamedNumber(constant.name, constant.value, constant.description) for constant in schema.constants if isinstance(constant.value, int)
    ]
    return Block("Constants", "", tuple(found))


def _enum(enum: Enum) -> Block:
    prefix = upper(enum.name)
    return Block(
        enum.name,
        enum.description,
        tuple(NamedNumber(f"{prefix}_{value.name}", value.value, value.description) for value in enum.values),
    )


def _set(flags: FlagSet) -> Block:
    prefix = upper(flags.name)
    named = (*flags.choices, *flags.combinations)
    wide = c_type(flags.primitive) if flags.primitive.size == 8 else "int64_t"
    numbers = tuple(NamedNumber(f"{prefix}_{one.name}", one.value, one.description, wide) for one in named)
    return Block(flags.name, flags.description, numbers)


def _struct(struct: Struct) -> Block:
    prefix, function = upper(struct.name), snake(struct.name)
    numbers = [NamedNumber(f"{prefix}_LENGTH", struct.length, "length of the fixed part")]
    if struct.full_length != struct.length:
        numbers.append(NamedNumber(f"{prefix}_FULL_LENGTH", struct.full_length, "length with every tail field"))
    if struct.align > 1:
        numbers.append(NamedNumber(f"{prefix}_ALIGNMENT", struct.align, "each starts on a multiple of this"))
    numbers += [NamedNumber(f"{prefix}_{field.name.upper()}_OFFSET", field.offset, field.description) for field in struct.fields]
    for field in struct.fields:
        if field.count is not None:
            numbers.append(NamedNumber(f"{prefix}_{field.name.upper()}_COUNT", field.count, "number of elements"))
    for variant in struct.fixed_variants:
        numbers.append(NamedNumber(f"{prefix}_{variant.name.upper()}_OFFSET", variant.offset or 0, variant.description))
        numbers.append(NamedNumber(f"{prefix}_{variant.name.upper()}_LENGTH", variant.length or 0, "bytes that it occupies"))
    for member in struct.dynamic:
        if member.offset is not None:
            numbers.append(NamedNumber(f"{prefix}_{member.name.upper()}_OFFSET", member.offset, member.description))
    return Block(
        title=struct.name,
        description=struct.description,
        numbers=tuple(numbers),
        accessors=tuple(_accessor(function, field) for field in struct.fields),
        bit_accessors=tuple(bits for field in struct.fields for bits in _bits(function, field)),
        packers=tuple(_packer(function, field) for field in struct.fields if field.bits),
    )


def _accessor(function: str, field: Field) -> Accessor:
    return Accessor(
        name=f"{function}_{field.name}",
        setter=f"{function}_set_{field.name}",
        offset=field.offset,
        c_type=c_type(field.primitive),
        description=field.description,
        is_array=field.count is not None,
    )


def _bits(function: str, field: Field) -> tuple[BitAccessor, ...]:
    unsigned = f"uint{8 * field.primitive.size}_t"
    return tuple(
        BitAccessor(
            name=f"{function}_{field.name}_{bits.name}",
            c_type=c_type(bits.primitive),
            raw_type=c_type(field.primitive),
            unsigned_raw=unsigned,
            shift=bits.low,
            mask=hex((1 << (bits.high - bits.low + 1)) - 1),
            description=bits.description,
        )
        for bits in field.bits
    )


def _packer(function: str, field: Field) -> Packer:
    parts = _bits(function, field)
    arguments = tuple(bits.name for bits in field.bits)
    return Packer(f"{function}_{field.name}_pack", c_type(field.primitive), f"uint{8 * field.primitive.size}_t", parts, arguments)


def _length_term(section: Section, prefix: str) -> str:
    base = str(section.constant) if section.field is None else section.field
    if section.times > 1:
        base = f"{section.times} * {base}"
    return f"{prefix}align({base}, {section.align})" if section.align > 1 else base


def _region(region: Region, prefix: str) -> Block:
    function = snake(region.name)
    parameters = ", ".join(f"int64_t {name}" for name in region.parameters)
    functions = []
    terms: list[str] = []
    for section in region.sections:
        name, sum_before = f"{function}_{section.name}_offset", " + ".join(terms) or "0"
        functions.append(RegionFunction(name, parameters, sum_before, f"where it starts: {section.description}"))
        terms.append(_length_term(section, prefix))
    total = " + ".join(terms)
    total = f"{prefix}align({total}, {region.align})" if region.align else total
    functions.append(RegionFunction(f"{function}_length", parameters, total, "length of the whole"))
    return Block(region.name, region.description, (), functions=tuple(functions))
