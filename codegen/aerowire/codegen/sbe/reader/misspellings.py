"""Elements and attributes that nobody reads, and whose names are close to one that is read.

No rule forbids them, and the official tool passes them over: a schema may have more than SBE knows.  A name that is nearly one of
SBE's is hardly meant to be another, so it becomes a note.
"""

from __future__ import annotations

import difflib

from lxml import etree

from aerowire.codegen.sbe.ir import ByteOrder
from aerowire.codegen.sbe.reader.elements import MESSAGE_SCHEMA, TYPE_KINDS, is_of_sbe, local_name, shown
from aerowire.codegen.sbe.reader.numerals import shorten
from aerowire.codegen.sbe.reader.report import Report

NOTES_MAX, NAMES_MAX = 100, 1_000  # a hostile schema must not take long with what is likely to be wrong with it
NAME_LENGTH_MAX = 40
CLOSENESS_MIN = 0.8

_COMMON = ("name", "description", "sinceVersion", "deprecated", "semanticType")
_TYPE = (*_COMMON, "presence", "offset", "package")
_FIELD = (*_COMMON, "id", "type", "presence", "offset", "valueRef", "epoch", "timeUnit")
ATTRIBUTES = {
    MESSAGE_SCHEMA: ("package", "id", "version", "semanticVersion", "description", "byteOrder", "headerType"),
    "types": ("package",),
    "messages": ("package",),
    "type": (
        *_TYPE,
        *("primitiveType", "length", "variableLength", "characterEncoding", "nullValue", "minValue", "maxValue", "valueRef"),
    ),
    "composite": _TYPE,
    "enum": (*_TYPE, "encodingType", "nullValue"),
    "set": (*_TYPE, "encodingType"),
    "ref": (*_TYPE, "type"),
    "validValue": _COMMON,
    "choice": _COMMON,
    "message": (*_COMMON, "id", "blockLength"),
    "group": (*_COMMON, "id", "blockLength", "dimensionType"),
    "field": _FIELD,
    "data": _FIELD,
}
_MEMBERS = (*TYPE_KINDS, "ref")
_BLOCK = ("field", "group", "data")
CHILDREN = {
    MESSAGE_SCHEMA: ("types", "message", "messages"),
    "types": _MEMBERS,
    "messages": ("message",),
    "composite": _MEMBERS,
    "enum": ("validValue",),
    "set": ("choice",),
    "message": _BLOCK,
    "group": _BLOCK,
}
# Legal in SBE 1.0's own XSD, or found in schemas, and read by neither this reader nor the official tool.
_OF_TYPES = "it belongs to the type of a field, and this one's type decides"
WITHOUT_EFFECT = {
    **{(kind, name): _OF_TYPES for kind in ("field", "data") for name in ("nullValue", "minValue", "maxValue")},
    **{(kind, "alignment"): "fields are not aligned; give them offsets" for kind in ("message", "group", "composite")},
}
_OF_DRAFTS = ("fixVersion",)
_KNOWN_ATTRIBUTES = frozenset([*_OF_DRAFTS, *(name for names in ATTRIBUTES.values() for name in names)])
_KNOWN_ELEMENTS = frozenset(ATTRIBUTES)


def note_misspellings(report: Report, root: etree._Element) -> None:
    """Note each name in the schema that is nearly one that would be read there."""
    _Search(report).look(root)


class _Search:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._near: dict[tuple[str, tuple[str, ...]], str] = {}
        self._notes = 0

    def look(self, root: etree._Element) -> None:
        waiting = [(root, MESSAGE_SCHEMA)]
        self._check_byte_order(root)
        while waiting and self._notes < NOTES_MAX:
            element, kind = waiting.pop()
            self._check_attributes(element, kind)
            for child in element.iterchildren(etree.Element):
                meant = self._meant(child, element, kind)
                if meant:
                    waiting.append((child, meant))

    def _meant(self, child: etree._Element, parent: etree._Element, kind: str) -> str:
        """What an element is, or is meant to be; nothing if it is no business of SBE's."""
        if not is_of_sbe(child, parent):
            return ""
        local = local_name(child)
        if local in _KNOWN_ELEMENTS:
            return local
        meant = self._nearest(local, CHILDREN.get(kind, ()))
        if meant:
            self._note("unknown-element", child, f"unknown element {shorten(local)!r}; did you mean {meant!r}?")
        return meant

    def _check_attributes(self, element: etree._Element, kind: str) -> None:
        for name in element.attrib:
            if (kind, name) in WITHOUT_EFFECT:
                message = f"attribute {name!r} of {shown(element)} has no effect: {WITHOUT_EFFECT[kind, str(name)]}"
                self._note("attribute-without-effect", element, message, str(name))
                continue
            if name in _KNOWN_ATTRIBUTES or not isinstance(name, str) or name[0] == "{" or ":" in name:
                continue
            meant = self._nearest(name, ATTRIBUTES[kind])
            if meant and meant not in element.attrib:
                self._note("unknown-attribute", element, f"unknown attribute {shorten(name)!r}; did you mean {meant!r}?", name)

    def _check_byte_order(self, root: etree._Element) -> None:
        given = root.get("byteOrder")
        if given is not None and given not in tuple(ByteOrder):
            message = f"byteOrder {shorten(given)!r} is neither of {', '.join(ByteOrder)}; it is read as {ByteOrder.LITTLE_ENDIAN}"
            self._note("unknown-byte-order", root, message, "byteOrder")

    def _nearest(self, name: str, known: tuple[str, ...]) -> str:
        key = (name, known)
        if key not in self._near:
            if len(name) > NAME_LENGTH_MAX or len(self._near) >= NAMES_MAX:
                return ""
            lower = {one.lower(): one for one in known}
            found = difflib.get_close_matches(name.lower(), lower, 1, CLOSENESS_MIN)
            self._near[key] = lower[found[0]] if found else ""
        return self._near[key]

    def _note(self, rule: str, element: etree._Element, message: str, attribute: str = "") -> None:
        if self._notes < NOTES_MAX:
            self._report.note(rule, element, message, attribute)
        self._notes += 1
