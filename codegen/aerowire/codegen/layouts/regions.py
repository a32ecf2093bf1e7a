"""Regions: the named sections of a file or a mapping."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from lxml import etree

from aerowire.codegen.document import elements
from aerowire.codegen.layouts.ir import Region, Section

if TYPE_CHECKING:
    from aerowire.codegen.layouts.resolve import Scope


def resolve_region(scope: Scope, element: etree._Element, regions: Set[str]) -> Region | None:
    """Return a region; its `fields` struct must hold every field that a length names.  `regions` are the names of all."""
    from aerowire.codegen.layouts.resolve import PASCAL

    name = scope.declare(element, PASCAL, "PascalCase")
    struct_name = element.get("fields")
    struct = scope.structs.get(struct_name) if struct_name else None
    if struct_name and struct is None:
        scope.report(element, f"fields names {struct_name!r}, which is no struct of this file")
    known = {field.name for field in struct.fields} if struct else None
    align = element.get("align")
    if known is not None and align is not None and align not in known:
        scope.report(element, f"align names {align!r}, which is no field of {struct_name!r}")
    sections: list[Section] = []
    names: set[str] = set()
    for child in elements(element):
        section = _section(scope, child, known, regions)
        if section.name in names:
            scope.report(child, f"section {section.name!r} stands twice")
        names.add(section.name)
        sections.append(section)
    return None if name is None else Region(name, element.get("description", ""), struct_name, align, tuple(sections))


def _section(scope: Scope, element: etree._Element, known: set[str] | None, regions: Set[str]) -> Section:
    constant = scope.size(element, "constant")
    field = element.get("field")
    struct = scope.structs.get(element.get("struct", ""))
    if element.get("constant") is not None and field is not None:
        scope.report(element, f"section {element.get('name')!r} has both constant and field")
    elif element.get("constant") is None and field is None:
        if struct is None:
            scope.report(element, f"section {element.get('name')!r} needs constant, field or struct")
        else:
            constant = struct.length
    if known is not None and field is not None and field not in known:
        scope.report(element, f"field names {field!r}, which the region's struct does not have")
    for attribute, names in (("struct", scope.structs.keys()), ("region", regions)):
        target = element.get(attribute)
        if target is not None and target not in names:
            scope.report(element, f"{attribute} names {target!r}, which this file does not declare")
    return Section(
        name=element.get("name", ""),
        description=element.get("description", ""),
        constant=constant,
        field=field,
        times=scope.size(element, "times", 1) or 1,
        align=scope.alignment(element),
        struct=element.get("struct"),
        region=element.get("region"),
    )
