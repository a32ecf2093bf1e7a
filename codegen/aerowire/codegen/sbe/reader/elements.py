"""The elements and attributes of a message schema.  Knows namespaces and how a missing or malformed attribute is reported.

SBE's elements have no namespace, or one of the several that SBE has had, or the schema's own root's.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from aerowire.codegen.primitives import PRIMITIVES, Primitive
from aerowire.codegen.sbe.ir import Presence
from aerowire.codegen.sbe.reader.numerals import NumeralError, parse_int32, shorten
from aerowire.codegen.sbe.reader.report import Report, UnreadableError

SBE_NAMESPACE_PART = "fixprotocol"
MESSAGE_SCHEMA = "messageSchema"
TYPE_KINDS = ("type", "composite", "enum", "set")  # in the order in which the official tool reads them
MEMBER_KINDS = (*TYPE_KINDS, "ref", "data", "group")  # what stands within a composite, or within `types`


def split(element: etree._Element) -> tuple[str, str]:
    """The namespace and the local name of an element."""
    tag = str(element.tag)
    if tag.startswith("{"):
        namespace, _, local = tag[1:].partition("}")
        return namespace, local
    return "", tag.rpartition(":")[2]


def local_name(element: etree._Element) -> str:
    return split(element)[1]


def children(parent: etree._Element, *names: str) -> Iterator[etree._Element]:
    """The children that have one of the names and are SBE's."""
    for child in parent.iterchildren(etree.Element):
        if local_name(child) in names and is_of_sbe(child, parent):
            yield child


def is_of_sbe(child: etree._Element, parent: etree._Element) -> bool:
    """Whether an element within one of SBE's is SBE's too, by its namespace."""
    namespace = split(child)[0]
    return not namespace or SBE_NAMESPACE_PART in namespace or namespace == split(parent)[0]


def required(report: Report, element: etree._Element, name: str) -> str:
    """An attribute that must be there.  Where it is not, the declaration is unreadable."""
    value = element.get(name)
    if value:
        return value
    state = "lacks" if value is None else "has an empty"
    report.fault("missing-attribute", element, f"{shown(element)} {state} attribute {name!r}", name)
    raise UnreadableError


def integer(report: Report, element: etree._Element, name: str, default: int) -> int:
    """An attribute that is a number of 32 bits."""
    value = element.get(name)
    return default if value is None else _integer(report, element, name, value)


def required_integer(report: Report, element: etree._Element, name: str) -> int:
    return _integer(report, element, name, required(report, element, name))


def _integer(report: Report, element: etree._Element, name: str, value: str) -> int:
    try:
        return parse_int32(value)
    except NumeralError as error:
        report.fault("bad-number", element, f"{name} of {shown(element)}: {error}", name)
        raise UnreadableError from None


def presence(report: Report, element: etree._Element, default: Presence) -> Presence:
    value = element.get("presence")
    if value is None:
        return default
    try:
        return Presence(value)
    except ValueError:
        expected = ", ".join(Presence)
        report.fault("unknown-presence", element, f"presence {shorten(value)!r} of {shown(element)}; expected {expected}", "presence")
        raise UnreadableError from None


def primitive(report: Report, element: etree._Element, name: str) -> Primitive:
    """An attribute that names a primitive."""
    value = required(report, element, name)
    if value in PRIMITIVES:
        return PRIMITIVES[value]
    hint = report.suggest(value, PRIMITIVES)
    report.fault("unknown-primitive", element, f"{name} {shorten(value)!r} of {shown(element)} is no primitive{hint}", name)
    raise UnreadableError


def shown(element: etree._Element) -> str:
    """What messages call an element: its kind and, where it has one, its name."""
    name = element.get("name")
    return f"{local_name(element)} {shorten(name)!r}" if name else local_name(element)
