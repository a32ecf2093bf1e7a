"""Values of a message schema: a text of a primitive, and the values of enums and the choices of sets."""

from __future__ import annotations

from lxml import etree

from aerowire.codegen.primitives import Primitive
from aerowire.codegen.sbe.ir import Number
from aerowire.codegen.sbe.reader.declared import DeclaredValue
from aerowire.codegen.sbe.reader.elements import integer, required, shown
from aerowire.codegen.sbe.reader.language_names import check_name
from aerowire.codegen.sbe.reader.numerals import NumeralError, as_long, parse_value
from aerowire.codegen.sbe.reader.report import UnreadableError
from aerowire.codegen.sbe.reader.scope import Scope


def value_of(scope: Scope, element: etree._Element, text: str, kind: Primitive, attribute: str = "") -> Number:
    """Return the value that a text means; what it does not mean is a fault."""
    try:
        return parse_value(text, kind)
    except NumeralError as error:
        scope.report.fault("bad-number", element, f"{attribute or 'value'} of {shown(element)}: {error}", attribute)
        raise UnreadableError from None


def read_value(scope: Scope, element: etree._Element, kind: Primitive, *, is_bit: bool = False) -> DeclaredValue:
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
