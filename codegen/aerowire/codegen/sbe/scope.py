"""What reading one schema has at hand: its report, its types' elements by kind and name, and whose names are to be valid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from lxml import etree

from aerowire.codegen.sbe.elements import children, integer, presence, required
from aerowire.codegen.sbe.ir import Presence
from aerowire.codegen.sbe.report import Report

TYPE_KINDS = ("type", "composite", "enum", "set")


class Common(TypedDict):
    """The arguments that every declared type takes."""

    element: etree._Element
    name: str
    reference: str
    package: str
    presence: Presence
    description: str
    since_version: int
    deprecated: int
    semantic_type: str | None
    offset: int


@dataclass(slots=True, eq=False)
class Scope:
    """`named` finds the first element of a name, as references do; `elements` has all of a kind in their order."""

    root: etree._Element
    report: Report
    languages: tuple[str, ...] = ()
    lenient: bool = False
    elements: dict[str, list[etree._Element]] = field(default_factory=dict)
    named: dict[str, etree._Element] = field(default_factory=dict)
    first: dict[tuple[str, str], etree._Element] = field(default_factory=dict)
    expansions: int = 0

    def __post_init__(self) -> None:
        self.elements = {kind: [] for kind in TYPE_KINDS}
        for types in children(self.root, "types"):
            for element in children(types, *TYPE_KINDS, "ref", "data", "group"):
                self._add(element)

    def _add(self, element: etree._Element) -> None:
        kind = str(element.tag).rpartition("}")[2]
        if kind in self.elements:
            self.elements[kind].append(element)
        name = element.get("name")
        if name is not None:
            self.named.setdefault(name, element)
            self.first.setdefault((kind, name), element)


def common(scope: Scope, element: etree._Element, given_name: str, reference: str) -> Common:
    """Read what every type has.  Raises UnreadableError."""
    report = scope.report
    parent = element.getparent()
    while parent is not None and str(parent.tag).rpartition("}")[2] != "types":
        parent = parent.getparent()
    return Common(
        element=element,
        name=given_name or required(report, element, "name"),
        reference=reference,
        package=(parent.get("package") if parent is not None else None) or "",
        presence=presence(report, element, Presence.REQUIRED),
        description=element.get("description") or "",
        since_version=integer(report, element, "sinceVersion", 0),
        deprecated=integer(report, element, "deprecated", 0),
        semantic_type=element.get("semanticType"),
        offset=integer(report, element, "offset", -1),
    )
