"""Names that targets derive from a schema's names must stay distinct, and must not be words of Python."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aerowire.codegen.layouts.ir import Struct
from aerowire.codegen.names import upper

if TYPE_CHECKING:
    from aerowire.codegen.layouts.resolve import Scope

# Names that every flyweight has, or that its encode() uses.
RESERVED = frozenset({"align", "bytes", "cls", "encode", "encoded_length", "len", "limit", "text_bytes", "to_dict"})


def check_spellings(scope: Scope) -> None:
    """Report derived constants that two declarations share, and members that are spelt like keywords."""
    taken: dict[str, str] = {}
    for owner, derived in _derived(scope):
        element = scope.declared[owner]
        if derived in taken and taken[derived] != owner:
            scope.report(element, f"{owner} and {taken[derived]} both make the constant {derived}")
        taken.setdefault(derived, owner)
    for struct in scope.structs.values():
        for member in (*struct.fields, *struct.fixed_variants, *struct.dynamic):
            if keyword.iskeyword(member.name):
                scope.report(scope.declared[struct.name], f"member {member.name!r} of {struct.name} is a word of Python")
            elif member.name in RESERVED:
                scope.report(
                    scope.declared[struct.name], f"member {member.name!r} of {struct.name} is a name that generated code uses itself"
                )


def _derived(scope: Scope) -> Iterator[tuple[str, str]]:
    """Pairs of a declaration and a constant that is made of it."""
    for constant in scope.constants.values():
        yield constant.name, constant.name
    for enum in scope.enums.values():
        for value in enum.values:
            yield enum.name, f"{upper(enum.name)}_{value.name}"
    for flags in scope.sets.values():
        for value in (*flags.choices, *flags.combinations):
            yield flags.name, f"{upper(flags.name)}_{value.name}"
    for struct in scope.structs.values():
        for suffix in _suffixes(struct):
            yield struct.name, f"{upper(struct.name)}_{suffix}"


def _suffixes(struct: Struct) -> Iterator[str]:
    yield "LENGTH"
    if struct.full_length != struct.length:
        yield "FULL_LENGTH"
    if struct.align > 1:
        yield "ALIGNMENT"
    for member in (*struct.fields, *struct.fixed_variants, *struct.dynamic):
        yield f"{member.name.upper()}_OFFSET"
    for field in struct.fields:
        if field.count is not None:
            yield f"{field.name.upper()}_COUNT"
    for variant in struct.fixed_variants:
        yield f"{variant.name.upper()}_LENGTH"
