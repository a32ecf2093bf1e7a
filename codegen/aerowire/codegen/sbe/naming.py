"""How the names of a message schema are spelt in Python, decided once for every target that writes Python code.

Whatever a schema says, what comes out is a valid identifier that is free where it will stand: members of a block are snake_case,
classes PascalCase, values of enums and choices of sets UPPER_CASE.  A name that Python or a generated class needs gets an
underscore behind it (`class_`), one that is already taken a number (`speed_2`).  What is older in the schema chooses first, so
that a name stays when members are added in a later version.
"""

from __future__ import annotations

import builtins
import enum
import functools
import keyword
import re
import sys
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from aerowire.codegen.names import snake
from aerowire.codegen.sbe.ir import Block, Composite, EncodedType, Enum, FlagSet, Group, MessageSchema, Named, Type, walk_blocks

TypeWithClass = Enum | FlagSet | Composite

# What the generated classes define without a leading underscore; all that starts with `sbe` is theirs too.
METHODS = frozenset(
    {
        "wrap",
        "wrap_and_apply_header",
        "rewind",
        "encoded_length",
        "acting_version",
        "acting_block_length",
        "to_dict",
        "from_dict",
        "decode",
        "encode",
        "encode_into",
    }
)
# Builtins that stand in the bodies of generated classes, in annotations and as decorators, and what `def` needs.
BUILTINS = frozenset(
    {
        "bool",
        "bytes",
        "classmethod",
        "dict",
        "float",
        "int",
        "list",
        "memoryview",
        "object",
        "property",
        "self",
        "cls",
        "str",
        "tuple",
    }
)
KEYWORDS = frozenset(keyword.kwlist)
# What hides a package of the same name; Python leaves its own tests out of its list.
STANDARD_MODULES = frozenset({*sys.stdlib_module_names, "test"})
# Names that generated modules use beside their classes.
MODULE_NAMES = frozenset({"ClassVar", "HEADER", "TYPE_CHECKING", "FieldMeta", "SbeError"})
CLASS_RESERVED = frozenset({*keyword.kwlist, *dir(builtins), *MODULE_NAMES})
ENUM_RESERVED = frozenset({*dir(enum.IntFlag), *dir(enum.IntEnum), "name", "value", "mro", "NULL_VALUE"})

# Every target spells every name; more different ones than this are spelt again.
NAMES_KEPT = 1 << 14

NamedT = TypeVar("NamedT", bound=Named)


def identifier(name: str) -> str:
    """The name with nothing in it but what identifiers may hold: `2-way` -> `n2_way`, `ﬁeld` -> `field`.

    Python compares identifiers in the form NFKC, so that is what comes out.  Underscores at the ends are left out, since
    names that start with them mean something to Python or to the generated classes.
    """
    if name.isascii() and name.isidentifier() and "__" not in name and "_" not in (name[0], name[-1]):
        return name
    normal = unicodedata.normalize("NFKC", name)
    kept = "".join(one if f"_{one}".isidentifier() else "_" for one in normal)
    plain = re.sub("_+", "_", kept).strip("_") or "unnamed"
    return plain if plain.isidentifier() else f"n{plain}"


@functools.lru_cache(maxsize=NAMES_KEPT)
def snake_name(name: str) -> str:
    """`fuelFigures` -> `fuel_figures`; a valid identifier, which may be a keyword."""
    return _settled(re.sub("_+", "_", snake(identifier(name))))


@functools.lru_cache(maxsize=NAMES_KEPT)
def upper_name(name: str) -> str:
    """`sunRoof` -> `SUN_ROOF`."""
    return _settled(snake_name(name).upper())


def pascal_name(name: str) -> str:
    """`fuelFigures` -> `FuelFigures`, `price_null` -> `PriceNull`; capitals stay."""
    return _settled("".join(part[:1].upper() + part[1:] for part in identifier(name).split("_")))


def package_name(name: str, parent: str = "") -> str:
    """A dotted name that can be imported: `my-schemas.class` -> `my_schemas.class_`; empty becomes `messages`.

    Nothing can be imported from below a module of the standard library: `io.acme` -> `io_.acme`, unless it is within `parent`, another
    package, which is taken as it is.
    """
    parts = [identifier(part) for part in name.split(".") if part.strip()] or ["messages"]
    if not parent and parts[0] in STANDARD_MODULES:
        parts[0] = f"{parts[0]}_"
    safe = [f"{part}_" if part in KEYWORDS else part for part in parts]
    return ".".join([parent, *safe] if parent else safe)


def _settled(name: str) -> str:
    """A change of case can leave the form NFKC."""
    return identifier(name)


class TakenNames(set[str]):
    """Names that are taken, whatever their case.  `numbers` has, of each name that others wanted too, the next number to try behind it:
    the smaller ones are taken."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__(name.casefold() for name in names)
        self.numbers: dict[str, int] = {}


def free_name(base: str, taken: TakenNames, reserved: frozenset[str] = frozenset()) -> str:
    """The name itself, or with an underscore, or with the first number that makes it free; it is then taken (whatever its case)."""
    found, number = f"{base}_" if base in reserved else base, taken.numbers.get(base, 2)
    while found.casefold() in taken or found in reserved:
        found, number = f"{base}_{number}", number + 1
    taken.numbers[base] = number
    taken.add(found.casefold())
    return found


def _is_reserved_member(name: str) -> bool:
    return name in METHODS or name in BUILTINS or name in KEYWORDS or name == "sbe" or name.startswith("sbe_")


def member_names(members: Iterable[Named]) -> dict[str, str]:
    """The Python name of each by the schema's; the oldest choose first, then the order counts."""
    taken = TakenNames()
    names: dict[str, str] = {}
    for member in sorted(members, key=lambda one: one.since_version):
        base = snake_name(member.name)
        names[member.name] = free_name(base, taken, frozenset({base}) if _is_reserved_member(base) else frozenset())
    return names


def property_names(block: Block | Composite) -> dict[str, str]:
    """The property of each field, group and data of a block, or of each member of a composite, by the schema's name."""
    if isinstance(block, Composite):
        return member_names(block.members)
    return member_names([*block.fields, *block.groups, *block.data])


def constant_prefix(property_name: str) -> str:
    """What the constants of a property start with: `serial_number` -> `SERIAL_NUMBER` (`_NULL_VALUE` ...).  Free of clashes, as
    properties are."""
    return property_name.upper() if property_name.startswith("sbe") else property_name.upper().rstrip("_")


def constant_names(properties: Mapping[str, Iterable[str]], reserved: Iterable[str] = ()) -> dict[tuple[str, str], str]:
    """The name of each constant, by the property and by what it says; properties come oldest first.

    `ENCODING_LENGTH` of `foo` and `LENGTH` of `foo_encoding` would be one name: the later one gets a number.
    """
    taken = TakenNames(reserved)
    return {(one, what): free_name(f"{constant_prefix(one)}_{what}", taken) for one, several in properties.items() for what in several}


def enum_member_names(of: Enum | FlagSet) -> dict[str, str]:
    """The member of each value of an enum, or choice of a set, by the schema's name."""
    members: Sequence[Named] = of.values if isinstance(of, Enum) else of.choices
    taken = TakenNames()
    names: dict[str, str] = {}
    for member in sorted(members, key=lambda one: one.since_version):
        base = upper_name(member.name)
        is_reserved = base in ENUM_RESERVED or base.lower() in ENUM_RESERVED or re.fullmatch("UNKNOWN_N?[0-9]+", base) is not None
        names[member.name] = free_name(base, taken, frozenset({base}) if is_reserved else frozenset())
    return names


def null_member_name(of: Enum) -> str | None:
    """`NULL_VALUE`; None when the enum was read leniently and has a value that is its null.

    (A value of the schema that is called so gets another name, by `enum_member_names`.)
    """
    return None if any(one.value == of.null for one in of.values) else "NULL_VALUE"


@dataclass(frozen=True)
class ClassNames:
    """The classes of a schema: `messages` by name, `types` by type (equal types share a class), `groups` by their path of names.

    Of each, the name followed by `Decoder` and by `Encoder` is free as well.  `modules` are the modules of the messages by name.
    """

    messages: dict[str, str]
    types: dict[TypeWithClass, str]
    groups: dict[tuple[str, ...], str]
    modules: dict[str, str]


@functools.lru_cache(maxsize=8)
def class_names(schema: MessageSchema) -> ClassNames:
    """Every class of the schema and its name: messages choose first, then types, then groups, which are called after their path."""
    taken = TakenNames()
    messages = {message.name: _class_name(pascal_name(message.name), taken) for message in _by_age(schema.messages)}
    types = _type_names(schema, taken)
    groups: dict[tuple[str, ...], str] = {}
    for message in schema.messages:
        for path in _group_paths((message.name,), message):
            outer = groups[path[:-1]] if len(path) > 2 else messages[message.name]
            groups[path] = _class_name(outer + pascal_name(path[-1]), taken)
    modules = TakenNames()
    by_module = {name: free_name(snake_name(one).lower(), modules, KEYWORDS) for name, one in messages.items()}
    return ClassNames(messages, types, groups, by_module)


def types_with_class(schema: MessageSchema) -> Sequence[TypeWithClass]:
    """Enums, sets and composites, each once, what is within a composite before it; not those that only frame groups and data."""
    found: dict[Hashable, TypeWithClass] = {}
    for key, one in _keyed_types(schema):
        found.setdefault(key, one)
    return list(found.values())


def _keyed_types(schema: MessageSchema) -> Iterator[tuple[Hashable, TypeWithClass]]:
    """Every type that a class is for, with what types of one class have in common, the name among it."""
    blocks = [block for message in schema.messages for block in walk_blocks(message)]
    framing = {one.type for block in blocks for one in block.data} | {one.dimension for one in blocks if isinstance(one, Group)}
    held = [one.type for block in blocks for one in block.fields]
    roots: list[Type] = [schema.header.type, *(one for one in schema.types if one not in framing), *held]
    for root in dict.fromkeys(roots):
        yield from _inner_first(root, root.name)


def _inner_first(root: Type, name: str) -> Iterator[tuple[Hashable, TypeWithClass]]:
    """A type that a composite refers to is told by the name of what it refers to, not by the member's."""
    if isinstance(root, EncodedType):
        return
    if isinstance(root, Composite):
        for member in root.members:
            yield from _inner_first(member.type, member.reference or member.type.name)
    yield (name, _shape(root)), root


def _shape(of: Type) -> Hashable:
    """What a type is, whatever it is called and however it is described."""
    if isinstance(of, Enum):
        return of.primitive.name, of.null, tuple((one.name, one.value) for one in of.values)
    if isinstance(of, FlagSet):
        return of.primitive.name, tuple((one.name, one.bit) for one in of.choices)
    if isinstance(of, Composite):
        members = ((one.name, one.offset, one.since_version, one.reference, _shape(one.type)) for one in of.members)
        return of.size, tuple(members)
    declared = repr((of.constant, of.null_value, of.min_value, of.max_value))
    return of.primitive.name, of.length, of.presence, of.character_encoding, declared


def _by_age(members: Iterable[NamedT]) -> list[NamedT]:
    return sorted(members, key=lambda one: one.since_version)


def _type_names(schema: MessageSchema, taken: TakenNames) -> dict[TypeWithClass, str]:
    """The class of each type; types that differ in nothing but a description, or the name of a reference, have the same."""
    keyed = list(_keyed_types(schema))
    first: dict[Hashable, TypeWithClass] = {}
    for key, one in keyed:
        first.setdefault(key, one)
    names: dict[Hashable, str] = {}
    for key in sorted(first, key=lambda key: first[key].since_version):
        called = key[0] if isinstance(key, tuple) else ""
        names[key] = _class_name(pascal_name(str(called)), taken)
    return {one: names[key] for key, one in keyed}


def _group_paths(path: tuple[str, ...], block: Block) -> Iterator[tuple[str, ...]]:
    for group in block.groups:
        yield (*path, group.name)
        yield from _group_paths((*path, group.name), group)


def _class_name(base: str, taken: TakenNames) -> str:
    """A class name of which `Decoder` and `Encoder` can be made."""
    wanted = f"{base}Type" if base in CLASS_RESERVED else base
    found, number = wanted, taken.numbers.get(wanted, 2)
    while any(f"{found}{suffix}".casefold() in taken for suffix in ("", "Decoder", "Encoder")):
        found, number = f"{wanted}{number}", number + 1
    taken.numbers[wanted] = number
    taken |= {f"{found}{suffix}".casefold() for suffix in ("", "Decoder", "Encoder")}
    return found
