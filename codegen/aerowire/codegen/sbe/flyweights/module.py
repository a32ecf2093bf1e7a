"""One generated module while it is written: what it needs from elsewhere, the codecs and look-ups at its top, and its classes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from aerowire.codegen.mark import mark
from aerowire.codegen.sbe.flyweights.text import INDENT, byte_literal, choices_apart, definition, docstring, literal, number
from aerowire.codegen.sbe.flyweights.values import Model, Value, header_image, is_nan
from aerowire.codegen.sbe.ir import EncodedType, Enum, Message
from aerowire.codegen.sbe.naming import null_member_name

IMPORT_WIDTH = 88  # linters' own; one that allows more keeps what has a comma behind the last name
# Names that users' classes cannot have: they never start with an underscore, and naming.MODULE_NAMES are kept.
SUPPORT = {
    "_marked_text_of": ("text", "marked_text_of"),
    "_marked_bytes_of": ("text", "marked_bytes_of"),
    "_check_room": ("errors", "check_room"),
    "_view_of": ("errors", "view_of"),
    "_text_of": ("errors", "text_of"),
    "_wide_text_of": ("errors", "wide_text_of"),
    "_bytes_of": ("errors", "bytes_of"),
    "_refused": ("errors", "refused"),
    "SbeError": ("errors", "SbeError"),
    "FieldMeta": ("errors", "FieldMeta"),
    "_new": ("errors", "new"),
    "_IrregularError": ("errors", "IrregularError"),
    "_FAILURES": ("errors", "FAILURES"),
    "_EnumLookup": ("values", "EnumLookup"),
    "_OptionalEnumLookup": ("values", "OptionalEnumLookup"),
    "_FlagLookup": ("values", "FlagLookup"),
    "_unknown": ("values", "unknown"),
    "_OpenEnum": ("values", "OpenEnum"),
    "_OpenFlag": ("values", "OpenFlag"),
    "_Numbers": ("parts", "Numbers"),
    "_check_head": ("parts", "check_head"),
    "_DataPart": ("parts", "DataPart"),
    "_GroupPart": ("parts", "GroupPart"),
    "_CompositeDecoder": ("reading", "CompositeDecoder"),
    "_MessageDecoder": ("reading", "MessageDecoder"),
    "_EntryDecoder": ("reading", "EntryDecoder"),
    "_FlatGroupDecoder": ("reading", "FlatGroupDecoder"),
    "_GroupDecoder": ("reading", "GroupDecoder"),
    "_CompositeEncoder": ("writing", "CompositeEncoder"),
    "_Cursor": ("writing", "Cursor"),
    "_MessageEncoder": ("writing", "MessageEncoder"),
    "_EntryEncoder": ("writing", "EntryEncoder"),
    "_GroupEncoder": ("writing", "GroupEncoder"),
    "_Record": ("records", "Record"),
    "_record_from_dict": ("records", "record_from_dict"),
    "_read_record": ("records", "read_record"),
    "_encode_record": ("records", "encode_record"),
    "_put": ("records", "put"),
    "_put_bytes": ("records", "put_bytes"),
}
STANDARD = {
    "_isnan": ("math", "isnan"),
    "_Struct": ("struct", "Struct"),
    "_dataclass": ("dataclasses", "dataclass"),
    "_field": ("dataclasses", "field"),
    "ClassVar": ("typing", "ClassVar"),
    "_Any": ("typing", "Any"),
    "_Self": ("typing", "Self"),
}
TYPES_ONLY = {
    "_Callable": ("collections.abc", "Callable"),
    "_Iterable": ("collections.abc", "Iterable"),
    "_TypeAlias": ("typing", "TypeAlias"),
    "_Buffer": ("typing_extensions", "Buffer"),
}


class Module:
    """Collects lines; `use` says that a name is needed and returns it."""

    def __init__(self, model: Model, depth: int, description: str) -> None:
        self.model = model
        self.depth = depth
        self.description = description
        self.lines: list[str] = []
        self.typing_lines: list[str] = []  # only for a type checker, behind its imports
        self.modules: list[str] = []  # of the standard library, imported whole
        self._used: set[str] = set()
        self._classes: dict[str, str] = {}
        self._structs: dict[str, str] = {}
        self._definitions: dict[str, str] = {}
        self._annotations: dict[str, str] = {}

    def use(self, name: str) -> str:
        self._used.add(name)
        return name

    def use_class(self, name: str, module: str) -> str:
        """A class of another module of the package."""
        self._classes[name] = module
        return name

    def define(self, name: str, expression: str) -> str:
        self._definitions[name] = expression
        return name

    def unpack(self, code: str, offset: int) -> str:
        """What reads a value that is `offset` behind the offset that it is given: padding costs less than adding."""
        kind = "bytes" if code.endswith("s") else "float" if code[-1] in "fd" else "int"
        annotation = f"{self.use('_Callable')}[[memoryview, int], tuple[{kind}, ...]]"
        name = f"_UNPACK_{offset}_{_spelled(code)}"
        padding = f"{offset}x" if offset else ""
        self.define(name, f"{self.use('_Struct')}({literal(self.model.order + padding + code)}).unpack_from")
        self._annotations[name] = annotation
        return name

    def pack(self, code: str) -> str:
        return self.define(f"_PACK_{_spelled(code)}", f"{self._struct(code)}.pack_into")

    def fits(self, code: str) -> str:
        """What refuses a value that the codec cannot write, before anything is written."""
        return self.define(f"_FITS_{_spelled(code)}", f"{self._struct(code)}.pack")

    def whole(self, code: str) -> str:
        """The codec itself, for rows of numbers."""
        return self._struct(code)

    def fused(self, purpose: str, code: str, method: str) -> str:
        """A method of a codec for a whole block."""
        return self.define(f"_{purpose}", f"{self.use('_Struct')}({literal(self.model.order + code)}).{method}")

    def head(self, message: Message) -> str:
        """The header of a message as it is written, further members zero."""
        image = byte_literal(header_image(self.model.schema, message))
        return self.define(f"_{self.model.names.messages[message.name]}_HEAD", image)

    def _struct(self, code: str) -> str:
        name = f"_CODEC_{_spelled(code)}"
        self._structs[name] = f"{self.use('_Struct')}({literal(self.model.order + code)})"
        return name

    def lookup(self, value: Value) -> str:
        """The members of an enum or a set by value; with None where that stands for null, and no value has it."""
        name = value.class_name
        self.use_class(name, "enums")
        if value.kind == "flags":
            return self.define(f"_{name}_of", f"{self.use('_FlagLookup')}({name})")
        if value.is_optional and isinstance(value.type, Enum) and null_member_name(value.type) is not None:
            return self.define(f"_{name}_or_none_of", f"{self.use('_OptionalEnumLookup')}({name}, {int(value.null)})")
        return self.define(f"_{name}_of", f"{self.use('_EnumLookup')}({name})")

    def decoded(self, value: Value, raw: str) -> str:
        """The expression for a value of any kind but composite, from what `struct` made of it."""
        if value.kind in {"enum", "flags"}:
            return f"{self.lookup(value)}[{raw}]"
        if value.kind == "text":
            function = "_wide_text_of" if value.encoding.startswith(("utf-16", "utf-32")) else "_text_of"
            return f"{self.use(function)}({raw}, {literal(value.encoding)})"
        plain = f"chr({raw})" if value.kind == "char" else raw
        if value.is_optional:
            return f"None if {self.is_null(value, raw)} else {plain}"
        return plain

    def is_null(self, value: Value, raw: str) -> str:
        return f"{self.use('_isnan')}({raw})" if is_nan(value.null) else f"{raw} == {self._null(value)}"

    def encoded(self, value: Value, given: str, *, in_row: bool) -> str:
        """The expression for what `struct` takes for a value; a row of numbers is packed, or if it stands alone spread."""
        if value.kind == "text":
            plain = f"{self.use('_bytes_of')}({given}, {literal(value.encoding)}, {value.size})"
            null = f"bytes({value.size})"
        elif value.kind == "numbers":
            length = value.size // max(value.type.primitive.size, 1) if isinstance(value.type, EncodedType) else 0
            row = f"*([{self._null(value)}] * {length} if {given} is None else {given})" if value.takes_none else f"*{given}"
            return f"{self.whole(value.code)}.pack({row})" if in_row else row
        else:
            plain = f"ord({given})" if value.kind == "char" else given
            null = self._null(value)
        return f"{null} if {given} is None else {plain}" if value.takes_none else plain

    def _null(self, value: Value) -> str:
        if is_nan(value.null):
            return self.define("_NAN", 'float("nan")')
        if isinstance(value.null, float) and math.isinf(value.null):
            return self.define("_INFINITY" if value.null > 0 else "_MINUS_INFINITY", number(value.null))
        return repr(value.null)

    def text(self) -> str:
        """The whole module."""
        out = [f"# {mark(self.model.schema.file_name)}"]
        out += [*docstring(self.description, 0), "", "from __future__ import annotations", ""]
        out += self._imports()
        definitions = {**self._structs, **self._definitions}
        if definitions:
            out += [line for name, expression in definitions.items() for line in definition(self._annotated(name), expression)]
        return "\n".join([*_without_blank_end(out), *choices_apart(self.lines)]) + "\n"

    def _annotated(self, name: str) -> str:
        return f"{name}: {self._annotations[name]}" if name in self._annotations else name

    def _imports(self) -> list[str]:
        standard = {name: STANDARD[name] for name in self._used if name in STANDARD}
        only = {name: TYPES_ONLY[name] for name in self._used if name in TYPES_ONLY}
        if only:
            standard["TYPE_CHECKING"] = ("typing", "TYPE_CHECKING")
        out = [*(f"import {one}" for one in self.modules), *_from_lines(standard, 0)]
        out += [""] if out else []
        dots = "." * self.depth
        support = "." * (self.depth - 1) + self.model.support
        ours = {name: (f"{support}.{SUPPORT[name][0]}", SUPPORT[name][1]) for name in self._used if name in SUPPORT}
        ours |= {name: (f"{dots}{module}", name) for name, module in self._classes.items()}
        out += [*_from_lines(ours, 0), ""] if ours else []
        if only:
            first, second = ({n: p for n, p in only.items() if (p[0] == "typing_extensions") is third} for third in (False, True))
            inner = [*_from_lines(first, 1), *([""] if first and second else []), *_from_lines(second, 1)]
            out += ["if TYPE_CHECKING:", *inner, *(["", *self.typing_lines] if self.typing_lines else []), ""]
        return out


def _from_lines(names: dict[str, tuple[str, str]], level: int) -> list[str]:
    """Imports as ruff sorts them: an import with another name stands alone."""
    lines: list[str] = []
    for module in sorted({module for module, _ in names.values()}):
        pairs = [(original, name) for name, (place, original) in names.items() if place == module]
        plain = sorted([original for original, name in pairs if original == name], key=import_key)
        found = [(import_key(plain[0]), import_lines(module, plain, level))] if plain else []
        for original, name in pairs:
            if original != name:
                found.append((import_key(original), [f"{INDENT * level}from {module} import {original} as {name}"]))
        lines += [line for _, several in sorted(found) for line in several]
    return lines


def import_lines(module: str, names: list[str], level: int) -> list[str]:
    """An import of names in their order, which a linter leaves alone whatever its length of lines is."""
    indent = INDENT * level
    line = f"{indent}from {module} import {', '.join(names)}"
    if len(line) <= IMPORT_WIDTH:
        return [line]
    return [f"{indent}from {module} import (", *(f"{indent}{INDENT}{name}," for name in names), f"{indent})"]


def import_key(name: str) -> tuple[int, list[tuple[bool, int, str]], str]:
    """ruff's order of imported names: constants, classes, the rest, whatever the case; numbers in names count as numbers."""
    kind, _, _ = listing_key(name)
    return kind, listing_key(name.lower())[1], name


def listing_key(name: str) -> tuple[int, list[tuple[bool, int, str]], str]:
    """ruff's order of `__all__`, in which case counts."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    parts = [one for one in re.split("([0-9]+)", name) if one]
    return kind, [(not one.isdecimal(), int(one) if one.isdecimal() else 0, one) for one in parts], name


def _spelled(code: str) -> str:
    """A format as part of a name; formats that differ by case stay apart."""
    digits = code.rstrip("bBhHiIqQfdsx")
    letter = code[len(digits) :]
    return f"{digits}{letter}" if letter.islower() else f"{digits}U{letter}"


def _without_blank_end(lines: Iterable[str]) -> list[str]:
    kept = list(lines)
    while kept and not kept[-1]:
        kept.pop()
    return kept
