"""Cython `.pxd` modules of message schemas: ids, offsets, enums, and inline accessors of the fixed blocks.

Accessors take the address of a block and check nothing.  Their bodies are C, which Cython only sees declared.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from aerowire.codegen.mark import mark
from aerowire.codegen.sbe.flyweights.text import INDENT, WIDTH
from aerowire.codegen.sbe.ir import Block, EncodedType, Enum, FlagSet, Group, Message, MessageSchema
from aerowire.codegen.sbe.naming import (
    TakenNames,
    class_names,
    enum_member_names,
    free_name,
    null_member_name,
    snake_name,
    types_with_class,
    upper_name,
)
from aerowire.codegen.sbe.native.c_text import CIMPORT, c_name, c_type, helpers
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.targets.columns import Column, columns_of, columns_of_header

INT32_MAX = (1 << 31) - 1


class NativeMessageTarget:
    """Renders one `.pxd` per schema."""

    name = "native"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        return {placement.file(self.name, ".pxd"): _Module(schema, placement).text()}


class _Module:
    """Collects the declarations of a schema; C has one namespace for all of them, hence the prefix."""

    def __init__(self, schema: MessageSchema, placement: Placement) -> None:
        self.schema = schema
        self.prefix = c_name(f"sbe_{placement.package.replace('.', '_')}_")
        self.classes = class_names(schema).types
        self.taken = TakenNames()
        self.numbers: list[str] = []
        self.bodies: list[str] = []
        self.declared: list[str] = []

    def text(self) -> str:
        schema = self.schema
        self._number("SBE_SCHEMA_ID", schema.id)
        self._number("SBE_SCHEMA_VERSION", schema.version)
        self._number("SBE_HEADER_LENGTH", schema.header.size)
        self._accessors("header", list(columns_of_header(schema.header, schema.byte_order)))
        for one in types_with_class(schema):
            if isinstance(one, Enum | FlagSet):
                self._values(one)
        for message in schema.messages:
            for block, path in _paths(message, message.name):
                self._block(block, path)
        c_lines = [*helpers(self.prefix, schema.byte_order), *self.bodies]
        out = [f"# {mark(schema.file_name)}"]
        out += ["# Offsets count from the start of a block; accessors take its address and check nothing.", "", CIMPORT, ""]
        out += ["cdef extern from *:", f'{INDENT}"""', *(f"{INDENT}{line}" for line in c_lines), f'{INDENT}"""']
        out += [f"{INDENT}{line}" for line in [*self.numbers, *self.declared]]
        return "\n".join(out) + "\n"

    def _number(self, wanted: str, value: int, comment: str = "") -> None:
        name = free_name(wanted, self.taken)
        kind, suffix = ("uint64_t", "UINT64_C") if value > (1 << 63) - 1 else ("int64_t", "INT64_C")
        literal = "(-INT64_C(9223372036854775807) - 1)" if value == -(1 << 63) else f"{suffix}({value})"
        if -INT32_MAX <= value <= INT32_MAX:
            kind, literal = "int", str(value)
        self.bodies.append(f"#define {self.prefix}{c_name(name)} {literal}")
        self.numbers += _commented(f'const {kind} {name} "{self.prefix}{c_name(name)}"', comment)

    def _values(self, one: Enum | FlagSet) -> None:
        names, prefix = enum_member_names(one), upper_name(self.classes[one])
        if isinstance(one, FlagSet):
            for choice in one.choices:
                self._number(f"{prefix}_{names[choice.name]}", 1 << choice.bit, choice.description)
            return
        for value in one.values:
            self._number(f"{prefix}_{names[value.name]}", value.value, value.description)
        null = null_member_name(one)
        if null is not None:
            self._number(f"{prefix}_{null}", one.null)

    def _block(self, block: Block, path: str) -> None:
        prefix = upper_name(path)
        if isinstance(block, Message):
            self._number(f"{prefix}_TEMPLATE_ID", block.id, block.description)
        self._number(f"{prefix}_BLOCK_LENGTH", block.block_length)
        if isinstance(block, Group):
            self._number(f"{prefix}_DIMENSION_LENGTH", block.dimension.size)
        self._accessors(path, list(columns_of(block, self.schema.byte_order)))

    def _accessors(self, path: str, columns: list[Column]) -> None:
        for column in columns:
            self._number(f"{upper_name(path)}_{upper_name(column.path)}_OFFSET", column.offset)
            name = free_name(f"{snake_name(path)}_{snake_name(column.path)}", self.taken)
            self._accessor(name, free_name(f"{snake_name(path)}_set_{snake_name(column.path)}", self.taken), column)

    def _accessor(self, name: str, setter: str, column: Column) -> None:
        c, p = c_type(column.type.primitive), self.prefix
        is_row = isinstance(column.type, EncodedType) and column.type.length != 1
        more, place = (", int64_t index", f"p + {column.offset} + index * (int64_t)sizeof({c})") if is_row else ("", f"p + {column.offset}")
        get, put = (f"{name}_at", f"{setter}_at") if is_row else (name, setter)
        self.bodies += [
            *_function(f"static inline {c} {p}{c_name(get)}(const uint8_t *p{more})", f"return {p}load_{c}({place});"),
            *_function(f"static inline void {p}{c_name(put)}(uint8_t *p{more}, {c} value)", f"{p}store_{c}({place}, value);"),
        ]
        if is_row:
            length = column.type.length if isinstance(column.type, EncodedType) else 1
            self._number(f"{name.upper()}_COUNT", length)
        self.declared += [
            f'{c} {get} "{p}{c_name(get)}"(const uint8_t* p{more}) noexcept nogil',
            f'void {put} "{p}{c_name(put)}"(uint8_t* p{more}, {c} value) noexcept nogil',
        ]


def _function(head: str, body: str) -> list[str]:
    """A function of C on one line where there is room."""
    line = f"{head} {{ {body} }}"
    return [line] if len(INDENT + line) <= WIDTH else [f"{head} {{", f"{INDENT}{body}", "}"]


def _commented(line: str, text: str) -> list[str]:
    """A line with what it means: behind it where there is room, else in lines of its own in front of it."""
    plain = " ".join(text.split())
    whole = f"{line}  # {plain}" if plain else line
    if len(INDENT + whole) <= WIDTH:
        return [whole]
    return [*textwrap.wrap(plain, 118, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False), line]


def _paths(block: Block, path: str) -> Iterator[tuple[Block, str]]:
    """A block and the groups within it, with their paths."""
    yield block, path
    for group in block.groups:
        yield from _paths(group, f"{path}.{group.name}")
