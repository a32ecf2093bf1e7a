"""A `set` of a message schema: bits with names."""

from __future__ import annotations

from itertools import chain

from lxml import etree

from aerowire.codegen.primitives import PRIMITIVES, Primitive
from aerowire.codegen.sbe.reader.declared import DeclaredSet
from aerowire.codegen.sbe.reader.elements import children, integer, primitive, required, shown
from aerowire.codegen.sbe.reader.numerals import shorten
from aerowire.codegen.sbe.reader.report import UnreadableError
from aerowire.codegen.sbe.reader.scope import Scope, common
from aerowire.codegen.sbe.reader.values import read_value

SET_PRIMITIVES = ("uint8", "uint16", "uint32", "uint64")


def read_set(scope: Scope, element: etree._Element, given_name: str = "", reference: str = "") -> DeclaredSet:
    """Return what a `set` declares.  Raises UnreadableError."""
    return scope.once(element, _read_set, given_name, reference)


def _read_set(scope: Scope, element: etree._Element) -> DeclaredSet:
    declared = DeclaredSet(**common(scope, element), primitive=_set_encoding(scope, element))
    bits: set[int] = set()
    for child in children(element, "choice"):
        try:
            choice = read_value(scope, child, declared.primitive, is_bit=True)
        except UnreadableError:
            continue
        if choice.value in bits:
            message = f"set {declared.name!r}: choice {choice.name!r} has bit {choice.value} of an earlier one"
            scope.report.warning("duplicate-choice", child, message)
        if choice.name in declared.values:
            message = f"set {declared.name!r}: choice {choice.name!r} is there already"
            scope.report.warning("duplicate-choice", child, message, "name")
        bits.add(choice.value)
        declared.values[choice.name] = choice
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
    hint = "" if found is not None else report.suggest(name, chain(SET_PRIMITIVES, scope.names_of("type")))
    message = (
        f"encodingType {shorten(name)!r} of {shown(element)} is neither a type of length 1 nor one of {', '.join(SET_PRIMITIVES)}{hint}"
    )
    report.fault("bad-encoding-type", element, message, "encodingType")
    raise UnreadableError
