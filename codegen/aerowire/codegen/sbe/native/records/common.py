"""What the parts of a data class in Cython have in common: its members, and numbers as C has them."""

from __future__ import annotations

import dataclasses
import math

from aerowire.codegen.primitives import Primitive
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.part_properties import group_stem
from aerowire.codegen.sbe.flyweights.text import literal
from aerowire.codegen.sbe.flyweights.values import Owner, Value, is_nan
from aerowire.codegen.sbe.ir import Block, Composite, Group
from aerowire.codegen.sbe.naming import property_names
from aerowire.codegen.sbe.native.words import plain, spelt

# Rows of numbers up to this length are written out; longer ones are loops.
UNROLLED = 16
# Encodings of text that C reads, and what the support code calls them.
PLAIN_ENCODINGS = {"ascii": 0, "utf-8": 1, "iso8859-1": 2, "latin-1": 2}


class RecordText:
    """The data class of a message, an entry or a composite: what its text is made from.

    `kind` is the class, `names` and those of `values` are its members, all as Cython spells them.
    """

    def __init__(self, module: Module, stem: str, owner: Owner) -> None:
        self.module = module
        self.stem = stem
        self.owner = owner
        self.kind = spelt(stem)
        self.values = [
            dataclasses.replace(value, name=spelt(value.name), class_name=spelt(value.class_name)) for value in module.model.values(owner)
        ]
        self.stored = [value for value in self.values if not value.is_constant]
        self.names = {name: spelt(own) for name, own in property_names(owner).items()}
        self.groups = owner.groups if isinstance(owner, Block) else ()
        self.data = owner.data if isinstance(owner, Block) else ()

    def entry(self, group: Group) -> str:
        """The class of a group's entries."""
        return spelt(group_stem(self.module.model, self.stem, group))


def told(name: str) -> str:
    """A literal of a name, as it is in Python."""
    return literal(plain(name))


def primitive(value: Value) -> Primitive:
    assert not isinstance(value.type, Composite)
    return value.type.primitive


def c_number(value: Value, c: str) -> str:
    """The null value as an expression of C."""
    null = value.null
    if is_nan(null):
        return "_NOT_A_NUMBER"
    if isinstance(null, float) and math.isinf(null):
        return "_INFINITE" if null > 0 else "(-_INFINITE)"
    if c in ("float", "double"):
        return f"<{c}>{float(null)!r}"
    if null == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    return f"<{c}>{null}{'ULL' if c == 'uint64_t' else ''}"
