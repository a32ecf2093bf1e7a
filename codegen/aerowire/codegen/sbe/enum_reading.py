"""Enums and sets of a message schema."""

from __future__ import annotations

from lxml import etree

from aerowire.codegen.ir import PRIMITIVES, Primitive
from aerowire.codegen.sbe.declared import DeclaredEncoding, DeclaredEnum, DeclaredSet, DeclaredValue
from aerowire.codegen.sbe.elements import children, integer, primitive, required, shown
from aerowire.codegen.sbe.encoding_reading import read_encoding, value_of
from aerowire.codegen.sbe.ir import RANGES, Number
from aerowire.codegen.sbe.language_names import check_name
from aerowire.codegen.sbe.numerals import as_long, shorten
from aerowire.codegen.sbe.report import UnreadableError
from aerowire.codegen.sbe.scope import Scope, common

ENUM_PRIMITIVES = ("char", "uint8", "int8", "int16", "uint16", "int32")
SET_PRIMITIVES = ("uint8", "uint16", "uint32", "uint64")


def read_enum(scope: Scope, element: etree._Element, given_name: str = "", reference: str = "") -> DeclaredEnum:
    """Return what an `enum` declares.  Raises UnreadableError."""
    arguments = common(scope, element, given_name, reference)
    kind, encoding = _enum_encoding(scope, element)
    null: Number = RANGES[kind.name].null
    null_text = element.get("nullValue")
    if null_text is not None:
        null = value_of(scope, element, null_text, kind, "nullValue")
    elif encoding is not None and encoding.null_value is not None:
        null = encoding.null_value
    declared = DeclaredEnum(**arguments, primitive=kind, null=0 if kind.is_float else int(null))
    by_number: set[int] = set()
    for child in children(element, "validValue"):
        try:
            value = _read_value(scope, child, kind)
        except UnreadableError:
            continue
        if value.value in by_number:
            message = f"enum {declared.name!r}: value {value.name!r} has the number {value.value} of an earlier one"
            scope.report.warning("duplicate-value", child, message)
        if value.name in declared.values:
            message = f"enum {declared.name!r}: value {value.name!r} is there already"
            scope.report.warning("duplicate-value", child, message, "name")
        if kind.name != "char":
            _check_range(scope, declared, value, encoding)
        by_number.add(value.value)
        declared.values[value.name] = value
    return declared


def _enum_encoding(scope: Scope, element: etree._Element) -> tuple[Primitive, DeclaredEncoding | None]:
    report = scope.report
    name = required(report, element, "encodingType")
    if name in ENUM_PRIMITIVES:
        return PRIMITIVES[name], None
    found = scope.first.get(("type", name))
    if found is None:
        hint = report.suggest(name, [*ENUM_PRIMITIVES, *(known for kind, known in scope.first if kind == "type")])
        message = f"encodingType {shorten(name)!r} of {shown(element)} is neither a type nor one of {', '.join(ENUM_PRIMITIVES)}{hint}"
        report.fault("bad-encoding-type", element, message, "encodingType")
        raise UnreadableError
    with report.through(f"the encodingType of {shown(element)}"):
        encoding = read_encoding(scope, found)
    if encoding.length != 1:
        message = f"encodingType {name!r} of {shown(element)} has length {encoding.length}; expected 1"
        report.fault("bad-encoding-type", element, message, "encodingType")
        raise UnreadableError
    if encoding.primitive.is_float:
        message = f"encodingType {name!r} of {shown(element)} is {encoding.primitive.name}; expected an integer or char"
        report.fault("bad-encoding-type", element, message, "encodingType")
        raise UnreadableError
    return encoding.primitive, encoding


def _check_range(scope: Scope, declared: DeclaredEnum, value: DeclaredValue, encoding: DeclaredEncoding | None) -> None:
    limits = RANGES[declared.primitive.name]
    minimum, maximum = limits.minimum, limits.maximum
    if encoding is not None:
        minimum = minimum if encoding.min_value is None else encoding.min_value
        maximum = maximum if encoding.max_value is None else encoding.max_value
    number = as_long(value.value)
    if number == as_long(declared.null):
        message = f"enum {declared.name!r}: value {value.name!r} is {declared.null}, which is the null value"
        if scope.lenient:
            scope.report.warning("value-is-null", value.element, message)
        else:
            scope.report.error("value-is-null", value.element, message)
    elif number < as_long(minimum) or number > as_long(maximum):
        message = f"enum {declared.name!r}: value {value.name!r} is {value.value}, outside of {int(minimum)} to {int(maximum)}"
        scope.report.error("value-out-of-range", value.element, message)


def read_set(scope: Scope, element: etree._Element, given_name: str = "", reference: str = "") -> DeclaredSet:
    """Return what a `set` declares.  Raises UnreadableError."""
    declared = DeclaredSet(**common(scope, element, given_name, reference), primitive=_set_encoding(scope, element))
    bits: set[int] = set()
    for child in children(element, "choice"):
        try:
            choice = _read_value(scope, child, declared.primitive, is_bit=True)
        except UnreadableError:
            continue
        if choice.value in bits:
            message = f"set {declared.name!r}: choice {choice.name!r} has bit {choice.value} of an earlier one"
            scope.report.warning("duplicate-choice", child, message)
        if choice.name in declared.choices:
            message = f"set {declared.name!r}: choice {choice.name!r} is there already"
            scope.report.warning("duplicate-choice", child, message, "name")
        bits.add(choice.value)
        declared.choices[choice.name] = choice
    return declared


def _set_encoding(scope: Scope, element: etree._Element) -> Primitive:
    report = scope.report
    name = required(report, element, "encodingType")
    if name in SET_PRIMITIVES:
        return PRIMITIVES[name]
    found = scope.first.get(("type", name))
    if found is not None and integer(report, found, "length", 1) == 1:
        kind = primitive(report, found, "primitiveType")
        if not kind.is_float:
            return kind
    hint = "" if found is not None else report.suggest(name, [*SET_PRIMITIVES, *(known for kind, known in scope.first if kind == "type")])
    message = (
        f"encodingType {shorten(name)!r} of {shown(element)} is neither a type of length 1 nor one of {', '.join(SET_PRIMITIVES)}{hint}"
    )
    report.fault("bad-encoding-type", element, message, "encodingType")
    raise UnreadableError


def _read_value(scope: Scope, element: etree._Element, kind: Primitive, *, is_bit: bool = False) -> DeclaredValue:
    report = scope.report
    name = required(report, element, "name")
    text = element.text
    if text is None:
        report.fault("value-without-data", element, f"{shown(element)} has no data")
        raise UnreadableError
    value = int(value_of(scope, element, text, kind))
    since_version = integer(report, element, "sinceVersion", 0)
    deprecated = integer(report, element, "deprecated", 0)
    if is_bit and not 0 <= as_long(value) < 8 * kind.size:
        message = f"choice {name!r} is bit {value}; a set of {kind.name} has bits 0 to {8 * kind.size - 1}"
        report.fault("choice-out-of-range", element, message)
        raise UnreadableError
    check_name(scope, element, name)
    return DeclaredValue(
        element=element,
        name=name,
        description=element.get("description") or "",
        since_version=since_version,
        deprecated=deprecated,
        value=value,
    )
