"""From a layout document to the IR: every name looked up, every offset a number, every problem noted, none of them fatal to the rest.

The XSD has checked which elements and attributes there are; here stands what it cannot say.  Where something is missing
altogether, this module keeps silent, because the XSD has spoken.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import TypeVar

from lxml import etree

from aerowire.codegen.document import Document, elements, integer
from aerowire.codegen.layouts.ir import Constant, Enum, FlagSet, NamedValue, Region, Schema, Struct, Variant
from aerowire.codegen.layouts.members import Members
from aerowire.codegen.layouts.regions import resolve_region
from aerowire.codegen.layouts.spellings import check_spellings
from aerowire.codegen.layouts.variants import resolve_dispatch, with_case_lengths, with_type_values
from aerowire.codegen.primitives import PRIMITIVES, Primitive
from aerowire.codegen.problems import Problem, listed
from aerowire.codegen.tables.tables import CounterTable

AW = "{urn:aerowire:layout}"
PASCAL = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
UPPER = re.compile(r"[A-Z][A-Z0-9_]*\Z")
Resolved = TypeVar("Resolved")


class Scope:
    """What a schema file has declared so far, and the problems found in it."""

    def __init__(self, document: Document, counters: CounterTable | None) -> None:
        self.document = document
        self.counters = counters
        self.problems: list[Problem] = []
        self.constants: dict[str, Constant] = {}
        self.enums: dict[str, Enum] = {}
        self.sets: dict[str, FlagSet] = {}
        self.structs: dict[str, Struct] = {}
        # The values of enums and sets, and the names of an enum's, by the name of the type: fields and variants look them up.
        self.values: dict[str, dict[str, int]] = {}
        self.value_names: dict[str, dict[int, str]] = {}
        self.declared: dict[str, etree._Element] = {}

    def report(self, element: etree._Element, message: str) -> None:
        self.problems.append(Problem(self.document.locate(element), message))

    def integer(self, element: etree._Element, attribute: str) -> int | None:
        """The value of an integer attribute; None where it is absent or no number, which is then reported."""
        text = element.get(attribute)
        return None if text is None else self.parse_integer(element, text, attribute)

    def parse_integer(self, element: etree._Element, text: str, what: str) -> int | None:
        try:
            return integer(text)
        except ValueError:
            self.report(element, f"{what} must be an integer, found {text.strip()!r}")
            return None

    def literal(self, element: etree._Element, attribute: str, names: dict[str, int] | None = None) -> int | None:
        """An integer attribute that may also name a constant or one of `names`."""
        text = element.get(attribute)
        if text is None:
            return None
        if names and text in names:
            return names[text]
        constant = self.constants.get(text)
        if constant is not None and isinstance(constant.value, int):
            return constant.value
        if re.match(r"[A-Z]", text):
            self.report(element, f"{attribute} names {text!r}, which is no integer constant of this file")
            return None
        return self.parse_integer(element, text, attribute)

    def size(self, element: etree._Element, attribute: str, least: int = 0) -> int | None:
        """A literal that counts bytes or members."""
        value = self.literal(element, attribute)
        if value is not None and value < least:
            self.report(element, f"{attribute} {value} is less than {least}")
            return None
        return value

    def alignment(self, element: etree._Element) -> int:
        """The literal `align`, 1 without one; a power of two, as code rounds up with masks."""
        value = self.size(element, "align", 1)
        if value is None:
            return 1
        if value & (value - 1):
            self.report(element, f"align {value} is no power of two")
        return value

    def declare(self, element: etree._Element, pattern: re.Pattern[str], form: str) -> str | None:
        """The element's name, once it has the right form and nothing else of the file bears it."""
        name = element.get("name")
        if name is None:
            return None
        if not pattern.match(name):
            self.report(element, f"name {name!r} must be in {form}")
            return None
        earlier = self.declared.get(name)
        if earlier is not None:
            self.report(element, f"name {name!r} is taken by line {self.document.locate(earlier).line}")
            return None
        self.declared[name] = element
        return name

    def primitive(self, element: etree._Element, attribute: str) -> Primitive | None:
        name = element.get(attribute)
        if name is None:
            return None
        if name not in PRIMITIVES:
            self.report(element, f"{attribute} {name!r} is none of {', '.join(PRIMITIVES)}")
            return None
        return PRIMITIVES[name]


def resolve_schema(document: Document, problems: list[Problem], counters: CounterTable | None = None) -> Schema | None:
    """Return the IR of a layout document; None, and `problems` longer, when it is not sound.

    `counters` is the table that a variant of counter keys refers to.
    """
    scope = Scope(document, counters)
    root = document.root
    _each(scope, root, f"{AW}constant", _constant)
    for types in root.findall("types"):
        _each(scope, types, "enum", _enum)
        _each(scope, types, "set", _set)
    members = Members(scope)
    for element in _structs_in_order(scope, root):
        struct = members.resolve(element)
        if struct is not None:
            scope.structs[struct.name] = struct
    members.check_references()
    with_case_lengths(scope)
    variants = [resolve_dispatch(scope, element) for element in root.findall(f"{AW}variant")]
    dispatch = tuple(variant for variant in variants if variant is not None)
    elements_of_regions = root.findall(f"{AW}region")
    names = {element.get("name", "") for element in elements_of_regions}
    regions = [resolve_region(scope, element, names) for element in elements_of_regions]
    if not scope.problems:
        check_spellings(scope)
    problems.extend(scope.problems)
    if scope.problems:
        return None
    return _assemble(scope, root, dispatch, tuple(region for region in regions if region is not None))


def _assemble(scope: Scope, root: etree._Element, variants: tuple[Variant, ...], regions: tuple[Region, ...]) -> Schema:
    order = {element.get("name"): index for index, element in enumerate(root.findall(f"{AW}struct"))}
    structs = sorted(with_type_values(scope.structs, variants).values(), key=lambda struct: order[struct.name])
    return Schema(
        package=root.get("package", ""),
        source=scope.document.name,
        id=scope.integer(root, "id") or 0,  # what is no number was reported against the XSD
        version=scope.integer(root, "version") or 0,
        byte_order=root.get("byteOrder", "littleEndian"),
        description=root.get("description", ""),
        constants=tuple(scope.constants.values()),
        enums=tuple(scope.enums.values()),
        sets=tuple(scope.sets.values()),
        structs=tuple(structs),
        variants=variants,
        regions=regions,
    )


def _each(scope: Scope, parent: etree._Element, tag: str, resolve: Callable[[Scope, etree._Element], None]) -> None:
    for element in parent.findall(tag):
        resolve(scope, element)


def _structs_in_order(scope: Scope, root: etree._Element) -> list[etree._Element]:
    """Struct elements, a parent before what extends it; a circle is reported and left out."""
    extending: dict[str | None, list[etree._Element]] = {}
    for element in root.findall(f"{AW}struct"):
        if scope.declare(element, PASCAL, "PascalCase") is not None:
            extending.setdefault(element.get("extends"), []).append(element)
    ordered = extending.pop(None, [])
    for element in ordered:  # which grows
        ordered += extending.pop(element.get("name"), [])
    for element in itertools.chain.from_iterable(extending.values()):
        scope.report(element, f"extends {element.get('extends')!r}, which is no struct of this file or extends this one")
    return ordered


def _constant(scope: Scope, element: etree._Element) -> None:
    name = scope.declare(element, UPPER, "UPPER_CASE")
    kind, text = element.get("type"), element.get("value")
    if name is None or kind is None or text is None:
        return
    description = element.get("description", "")
    if kind == "string":
        scope.constants[name] = Constant(name, kind, text, description)
        return
    primitive = scope.primitive(element, "type")
    value = scope.integer(element, "value")
    if primitive is not None and value is not None and _fits(scope, element, value, primitive, "value"):
        scope.constants[name] = Constant(name, kind, value, description)


def _fits(scope: Scope, element: etree._Element, value: int, primitive: Primitive, what: str) -> bool:
    if primitive.minimum <= value <= primitive.maximum:
        return True
    scope.report(element, f"{what} {value} does not fit {primitive.name} ({primitive.minimum} to {primitive.maximum})")
    return False


def _enum(scope: Scope, element: etree._Element) -> None:
    name = scope.declare(element, PASCAL, "PascalCase")
    primitive = scope.primitive(element, "encodingType")
    values = _named_values(scope, element, "validValue", primitive)
    if name is not None and primitive is not None:
        scope.enums[name] = Enum(name, primitive, tuple(values), element.get("description", ""))
        scope.values[name] = {value.name: value.value for value in values}
        scope.value_names[name] = {value.value: value.name for value in values}


def _set(scope: Scope, element: etree._Element) -> None:
    name = scope.declare(element, PASCAL, "PascalCase")
    primitive = scope.primitive(element, "encodingType")
    bits = _named_values(scope, element, "choice", None)
    width = 8 * primitive.size if primitive is not None else 64
    for choice, child in zip(bits, element.findall("choice"), strict=False):
        if not 0 <= choice.value < width:
            scope.report(child, f"choice {choice.name!r} is bit {choice.value} of {width}")
    choices = tuple(NamedValue(bit.name, 1 << (bit.value % width), bit.description) for bit in bits)
    combinations = tuple(_combinations(scope, element, {choice.name: choice.value for choice in choices}))
    if name is not None and primitive is not None:
        scope.sets[name] = FlagSet(name, primitive, choices, combinations, element.get("description", ""))
        scope.values[name] = {value.name: value.value for value in (*choices, *combinations)}


def _combinations(scope: Scope, element: etree._Element, masks: dict[str, int]) -> list[NamedValue]:
    found = []
    for child in element.findall(f"{AW}combination"):
        mask = 0
        for choice in child.get("choices", "").split():
            if choice not in masks:
                scope.report(child, f"choices names {choice!r}, which is none of {listed(masks)}")
            mask |= masks.get(choice, 0)
        found.append(NamedValue(child.get("name", ""), mask, child.get("description", "")))
    return found


def _named_values(scope: Scope, parent: etree._Element, tag: str, primitive: Primitive | None) -> list[NamedValue]:
    """Names with integers, each name and each integer once."""
    found: list[NamedValue] = []
    names: set[str] = set()
    values: dict[int, str] = {}
    for child in elements(parent):
        if child.tag != tag:
            continue
        name = child.get("name", "")
        value = scope.parse_integer(child, child.text or "", f"value of {name!r}")
        if name in names:
            scope.report(child, f"name {name!r} stands twice in {parent.get('name')!r}")
        if value is None:
            continue
        if value in values:
            scope.report(child, f"value {value} of {name!r} is taken by {values[value]!r}")
        if primitive is not None:
            _fits(scope, child, value, primitive, f"value of {name!r}")
        names.add(name)
        values.setdefault(value, name)
        found.append(NamedValue(name, value, child.get("description", "")))
    return found
