"""What reading one schema has at hand: its report, its types' elements by kind and name, and whose names are to be valid."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypedDict, TypeVar, cast

from lxml import etree

from aerowire.codegen.sbe.ir import Presence
from aerowire.codegen.sbe.reader.declared import DeclaredType
from aerowire.codegen.sbe.reader.elements import MEMBER_KINDS, TYPE_KINDS, children, integer, local_name, presence, required, shown
from aerowire.codegen.sbe.reader.report import Report, UnreadableError

T = TypeVar("T", bound=DeclaredType)


class Common(TypedDict):
    """The arguments that every declared type takes."""

    element: etree._Element
    name: str
    package: str
    presence: Presence
    description: str
    since_version: int
    deprecated: int
    semantic_type: str | None
    offset: int


@dataclass(slots=True)
class Weight:
    """A number of members, which has a limit: a few lines can ask for billions."""

    total: int = 0

    def add(self, report: Report, element: etree._Element, count: int, *, most: int, message: str) -> None:
        """Add members that `element` has. Raises UnreadableError beyond the limit, and reports the first element that exceeds it."""
        if self.total > most:
            raise UnreadableError
        self.total += count
        if self.total > most:
            report.fault("too-many-members", element, message)
            raise UnreadableError


@dataclass(slots=True, eq=False)
class Scope:
    """`named` finds the first element of a name, as references do; `elements` has all of a kind in their order.

    `weight` measures the members of composites, each reference expanded, `field_weight` those that the fields of messages have.
    `is_partial`: a file that is included could not be read.
    """

    root: etree._Element
    report: Report
    languages: tuple[str, ...] = ()
    lenient: bool = False
    is_partial: bool = False
    elements: dict[str, list[etree._Element]] = field(default_factory=dict)
    named: dict[str, etree._Element] = field(default_factory=dict)
    first: dict[tuple[str, str], etree._Element] = field(default_factory=dict)
    weight: Weight = field(default_factory=Weight)
    field_weight: Weight = field(default_factory=Weight)
    _reading: set[etree._Element] = field(default_factory=set)
    _read: dict[etree._Element, tuple[DeclaredType | None, int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.elements = {kind: [] for kind in TYPE_KINDS}
        for types in children(self.root, "types"):
            for element in children(types, *MEMBER_KINDS):
                self._add(element)

    def once(self, element: etree._Element, read: Callable[[Scope, etree._Element], T], name: str, reference: str) -> T:
        """Read a type at its first use; at each use return a copy of its own, and note the type's problems again.

        `name` and `reference` are those of the member that is to have the type, empty where the type is nobody's member.
        """
        report = self.report
        if element in self._read:
            found, first, last = self._read[element]
            report.repeat(first, last)
        elif element in self._reading:
            report.fault("circular-reference", element, f"{shown(element)} refers to itself by way of its values")
            raise UnreadableError
        else:
            first = report.count
            found = None
            self._reading.add(element)
            with contextlib.suppress(UnreadableError):
                found = read(self, element)
            self._read[element] = (found, first, report.count)
        if found is None:
            raise UnreadableError
        made = copy.copy(cast("T", found))
        made.name, made.reference = name or found.name, reference
        return made

    def names_of(self, kind: str) -> Iterator[str]:
        """The names of the elements of a kind, for suggestions: few of which are looked at, and only of the first problems."""
        return (name for one, name in self.first if one == kind)

    def is_told(self, name: str) -> bool:
        """Whether it is told already why there is no type of that name: it could not be read, or the file that may have it."""
        element = self.named.get(name)
        return self.is_partial or (element is not None and local_name(element) in TYPE_KINDS)

    def _add(self, element: etree._Element) -> None:
        kind = local_name(element)
        if kind in self.elements:
            self.elements[kind].append(element)
        name = element.get("name")
        if name is not None:
            self.named.setdefault(name, element)
            self.first.setdefault((kind, name), element)


def common(scope: Scope, element: etree._Element) -> Common:
    """Read what every type has.  Raises UnreadableError."""
    report = scope.report
    parent = element.getparent()
    while parent is not None and local_name(parent) != "types":
        parent = parent.getparent()
    return Common(
        element=element,
        name=required(report, element, "name"),
        package=(parent.get("package") if parent is not None else None) or "",
        presence=presence(report, element, Presence.REQUIRED),
        description=element.get("description") or "",
        since_version=integer(report, element, "sinceVersion", 0),
        deprecated=integer(report, element, "deprecated", 0),
        semantic_type=element.get("semanticType"),
        offset=integer(report, element, "offset", -1),
    )
