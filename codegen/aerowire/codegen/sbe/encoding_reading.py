"""A `type` of a message schema: a number, characters, or a constant."""

from __future__ import annotations

import codecs

from lxml import etree

from aerowire.codegen.ir import Primitive
from aerowire.codegen.sbe.declared import DeclaredEncoding, DeclaredEnum
from aerowire.codegen.sbe.elements import integer, primitive, shown
from aerowire.codegen.sbe.ir import Number, Presence
from aerowire.codegen.sbe.numerals import NumeralError, parse_value, shorten
from aerowire.codegen.sbe.report import UnreadableError
from aerowire.codegen.sbe.scope import Scope, common

DEFAULT_CHARACTER_ENCODING = "US-ASCII"


def read_encoding(scope: Scope, element: etree._Element, given_name: str = "", reference: str = "") -> DeclaredEncoding:
    """Return what a `type` declares.  Raises UnreadableError."""
    report = scope.report
    declared = DeclaredEncoding(
        **common(scope, element, given_name, reference),
        primitive=primitive(report, element, "primitiveType"),
        length=integer(report, element, "length", 1),
        is_variable=(element.get("variableLength") or "").lower() == "true",
        character_encoding=(element.get("characterEncoding") or "").strip(),
    )
    value_ref = element.get("valueRef")
    if value_ref is not None:
        declared.value_ref = value_ref
        _check_value_ref(scope, declared)
    if declared.primitive.name == "char" and element.get("characterEncoding") is None:
        declared.character_encoding = DEFAULT_CHARACTER_ENCODING
    if declared.presence is Presence.CONSTANT:
        declared.constant = _constant(scope, declared) if value_ref is None else _referenced_constant(scope, declared)
    declared.min_value = _limit(scope, declared, "minValue")
    declared.max_value = _limit(scope, declared, "maxValue")
    if element.get("nullValue") is not None and declared.presence is not Presence.OPTIONAL:
        report.warning("null-without-optional", element, f"{shown(element)} has a nullValue, but its presence is not optional", "nullValue")
    declared.null_value = _limit(scope, declared, "nullValue")
    return declared


def _check_value_ref(scope: Scope, declared: DeclaredEncoding) -> None:
    if "." not in declared.value_ref:
        message = f"valueRef {shorten(declared.value_ref)!r} is not of the form EnumName.ValueName"
        scope.report.error("bad-value-ref", declared.element, message, "valueRef")
    if declared.presence is not Presence.CONSTANT:
        message = f"{shown(declared.element)} has a valueRef, but its presence is not constant"
        scope.report.error("value-ref-without-constant", declared.element, message, "valueRef")


def _limit(scope: Scope, declared: DeclaredEncoding, attribute: str) -> Number | None:
    text = declared.element.get(attribute)
    if text is None:
        return None
    return value_of(scope, declared.element, text, declared.primitive, attribute)


def value_of(scope: Scope, element: etree._Element, text: str, kind: Primitive, attribute: str = "") -> Number:
    """Return the value that a text means; what it does not mean is a fault."""
    try:
        return parse_value(text, kind)
    except NumeralError as error:
        scope.report.fault("bad-number", element, f"{attribute or 'value'} of {shown(element)}: {error}", attribute)
        raise UnreadableError from None


def _constant(scope: Scope, declared: DeclaredEncoding) -> Number | str | None:
    element = declared.element
    text = element.text
    if not text:
        message = f"{shown(element)} is constant, but has no data"
        if len(element):
            scope.report.fault("constant-without-data", element, message)
            raise UnreadableError
        scope.report.error("constant-without-data", element, message)
        return None
    if declared.primitive.name != "char":
        if not text.strip():
            scope.report.fault("constant-without-data", element, f"{shown(element)} is constant, but has no data")
            raise UnreadableError
        return value_of(scope, element, text, declared.primitive)
    return _constant_text(scope, declared, text)


def _constant_text(scope: Scope, declared: DeclaredEncoding, text: str) -> str:
    """The characters of a constant.  Without a length they are as many as there are; layout around them is not counted."""
    element = declared.element
    is_length_given = element.get("length") is not None
    stripped = text.strip()
    if stripped and (len(text) > declared.length if is_length_given else "\n" in text or "\r" in text):
        text = stripped
    if is_length_given and len(text) > declared.length:
        message = f"{shown(element)} has {len(text)} characters, more than its length of {declared.length}"
        scope.report.fault("constant-too-long", element, message)
        raise UnreadableError
    if not is_length_given:
        declared.length = len(text)
    try:
        codecs.lookup(declared.character_encoding)
    except (LookupError, ValueError):
        message = f"characterEncoding {shorten(declared.character_encoding)!r} of {shown(element)} is unknown"
        scope.report.fault("unknown-character-encoding", element, message, "characterEncoding")
        raise UnreadableError from None
    return text


def _referenced_constant(scope: Scope, declared: DeclaredEncoding) -> Number | str | None:
    from aerowire.codegen.sbe.enum_reading import read_enum

    element, report = declared.element, scope.report
    enum_name, dot, value_name = declared.value_ref.partition(".")
    if not dot:
        raise UnreadableError
    found = scope.first.get(("enum", enum_name))
    if found is None:
        hint = report.suggest(enum_name, (name for kind, name in scope.first if kind == "enum"))
        report.error("unknown-enum", element, f"valueRef to unknown enum {shorten(enum_name)!r}{hint}", "valueRef")
        return None
    with report.through(f"the valueRef of {shown(element)}"):
        enum = read_enum(scope, found)
    if enum.primitive is not declared.primitive:
        message = f"valueRef to enum {enum.name!r} of {enum.primitive.name}, but {shown(element)} is {declared.primitive.name}"
        report.error("value-ref-mismatch", element, message, "valueRef")
        return None
    if value_name not in enum.values:
        hint = report.suggest(value_name, enum.values)
        report.error("unknown-value", element, f"enum {enum.name!r} has no value {shorten(value_name)!r}{hint}", "valueRef")
        return None
    return _as_constant(enum, value_name)


def _as_constant(enum: DeclaredEnum, name: str) -> Number | str:
    value = enum.values[name].value
    return chr(value) if enum.primitive.name == "char" else value
