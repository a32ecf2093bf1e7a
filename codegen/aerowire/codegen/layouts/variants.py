"""Variants on their own: tables from a type number to the struct that it announces."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lxml import etree

from aerowire.codegen.layouts.ir import Case, Dynamic, Struct, Variant
from aerowire.codegen.layouts.members import Members

if TYPE_CHECKING:
    from aerowire.codegen.layouts.resolve import Scope


def resolve_dispatch(scope: Scope, element: etree._Element) -> Variant | None:
    """Return a variant whose discriminator is `Struct.field`, or the name of an enum whose number stands elsewhere."""
    from aerowire.codegen.layouts.resolve import PASCAL

    name = scope.declare(element, PASCAL, "PascalCase")
    on = element.get("on")
    if name is None or on is None:
        return None
    kind: str | None = on
    if "." in on:
        struct_name, field_name = on.split(".", 1)
        struct = scope.structs.get(struct_name)
        field = next((field for field in struct.fields if field.name == field_name), None) if struct else None
        if field is None:
            scope.report(element, f"on names {on!r}, which is no field of a struct of this file")
            return None
        kind = field.kind
    if kind not in scope.enums:
        scope.report(element, f"on names {on!r}, which is no enum of this file nor a field of one")
        return None
    members = Members(scope)
    cases = members.cases(element, kind)
    members.check_references()
    return Variant(name, element.get("description", ""), on, kind, None, None, cases)


def with_case_lengths(scope: Scope) -> None:
    """Give each case that names a struct, in a variant that moves, the length of that struct, which must be fixed."""
    for name, struct in scope.structs.items():
        members: list[Dynamic] = []
        for member in struct.dynamic:
            members.append(replace(member, cases=_sized(scope, struct, member)) if isinstance(member, Variant) else member)
        scope.structs[name] = replace(struct, dynamic=tuple(members))


def _sized(scope: Scope, owner: Struct, variant: Variant) -> tuple[Case, ...]:
    found = []
    for case in variant.cases:
        target = scope.structs.get(case.struct) if case.struct else None
        if target is not None and (target.dynamic or target.tail_fields):
            scope.report(scope.declared[owner.name], f"variant {variant.name!r} needs structs of fixed length, and {target.name} varies")
        found.append(case if target is None else replace(case, length=target.length))
    return tuple(found)


def with_type_values(structs: dict[str, Struct], variants: tuple[Variant, ...]) -> dict[str, Struct]:
    """Give each struct the discriminator's value of the first case that names it."""
    values: dict[str, int] = {}
    for variant in variants:
        for case in variant.cases:
            if case.struct is not None:
                values.setdefault(case.struct, case.value)
    return {name: replace(struct, type_value=values.get(name)) for name, struct in structs.items()}
