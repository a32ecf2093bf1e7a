"""A `type` or an `enum` of a message schema.  They refer to each other: an enum to its encoding, a constant to an enum's value."""

from __future__ import annotations

import codecs
from itertools import chain
from typing import NoReturn

from lxml import etree

from aerowire.codegen.primitives import PRIMITIVES, Primitive
from aerowire.codegen.sbe.ir import RANGES, Number, Presence
from aerowire.codegen.sbe.reader.declared import DeclaredEncoding, DeclaredEnum, DeclaredValue
from aerowire.codegen.sbe.reader.elements import children, integer, primitive, required, shown
from aerowire.codegen.sbe.reader.numerals import as_long, shorten
from aerowire.codegen.sbe.reader.report import UnreadableError
from aerowire.codegen.sbe.reader.scope import Scope, common
from aerowire.codegen.sbe.reader.values import read_value, value_of

DEFAULT_CHARACTER_ENCODING = "US-ASCII"
DOMAIN_ENCODINGS = ("idna", "punycode")  # of names of hosts: the time that Python takes grows with the square of the text
CONSTANT_LENGTH_MAX = 1024  # a column has it in each row, whatever the length of the messages
ENUM_PRIMITIVES = ("char", "uint8", "int8", "int16", "uint16", "int32")


def read_encoding(scope: Scope, element: etree._Element, given_name: str = "", reference: str = "") -> DeclaredEncoding:
    """Return what a `type` declares.  Raises UnreadableError."""
    return scope.once(element, _read_encoding, given_name, reference)


def _read_encoding(scope: Scope, element: etree._Element) -> DeclaredEncoding:
    report = scope.report
    declared = DeclaredEncoding(
        **common(scope, element),
        primitive=primitive(report, element, "primitiveType"),
        length=integer(report, element, "length", 1),
        is_variable=(element.get("variableLength") or "").lower() == "true",
        character_encoding=(element.get("characterEncoding") or "").strip(),
    )
    if _codec_name(declared.character_encoding) in DOMAIN_ENCODINGS:
        _refuse_character_encoding(scope, declared, "is no encoding of messages")
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
    most = min(declared.length, CONSTANT_LENGTH_MAX) if is_length_given else CONSTANT_LENGTH_MAX
    if len(text) > most:
        of_what = f"its length of {most}" if most == declared.length else f"the {most} that a constant may have"
        scope.report.fault("constant-too-long", element, f"{shown(element)} has {len(text)} characters, more than {of_what}")
        raise UnreadableError
    if not is_length_given:
        declared.length = len(text)
    if not _codec_name(declared.character_encoding):
        _refuse_character_encoding(scope, declared, "is unknown")
    return text


def _codec_name(encoding: str) -> str:
    """Python's name of a character encoding, empty if it has none."""
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return ""


def _refuse_character_encoding(scope: Scope, declared: DeclaredEncoding, why: str) -> NoReturn:
    message = f"characterEncoding {shorten(declared.character_encoding)!r} of {shown(declared.element)} {why}"
    scope.report.fault("unknown-character-encoding", declared.element, message, "characterEncoding")
    raise UnreadableError


def _referenced_constant(scope: Scope, declared: DeclaredEncoding) -> Number | str | None:
    element, report = declared.element, scope.report
    enum_name, dot, value_name = declared.value_ref.partition(".")
    if not dot:
        raise UnreadableError
    found = scope.first.get(("enum", enum_name))
    if found is None:
        hint = report.suggest(enum_name, scope.names_of("enum"))
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
    return enum.constant(value_name)


def read_enum(scope: Scope, element: etree._Element, given_name: str = "", reference: str = "") -> DeclaredEnum:
    """Return what an `enum` declares.  Raises UnreadableError."""
    return scope.once(element, _read_enum, given_name, reference)


def _read_enum(scope: Scope, element: etree._Element) -> DeclaredEnum:
    arguments = common(scope, element)
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
        declared.told.add(child.get("name"))
        try:
            value = read_value(scope, child, kind)
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
        hint = report.suggest(name, chain(ENUM_PRIMITIVES, scope.names_of("type")))
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
