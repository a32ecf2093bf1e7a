"""What the parts of a data class in Cython have in common: its members, and numbers as C has them."""

from __future__ import annotations

from aerowire.codegen.ir import Primitive
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.values import Value, is_nan
from aerowire.codegen.sbe.ir import Block, Composite
from aerowire.codegen.sbe.naming import property_names

Owner = Block | Composite
INDENT = "    "
# Rows of numbers up to this length are written out; longer ones are loops.
UNROLLED = 16
# Encodings of text that C reads, and what the support code calls them.
PLAIN_ENCODINGS = {"ascii": 0, "utf-8": 1, "iso8859-1": 2, "latin-1": 2}


class RecordText:
    """The data class of a message, an entry or a composite: what its text is made from."""

    def __init__(self, module: Module, stem: str, owner: Owner) -> None:
        self.module = module
        self.stem = stem
        self.owner = owner
        self.values = module.model.values(owner)
        self.stored = [value for value in self.values if not value.is_constant]
        self.names = property_names(owner)
        self.groups = owner.groups if isinstance(owner, Block) else ()
        self.data = owner.data if isinstance(owner, Block) else ()


def primitive(value: Value) -> Primitive:
    assert not isinstance(value.type, Composite)
    return value.type.primitive


def c_number(value: Value, c: str) -> str:
    """The null value as an expression of C."""
    null = value.null
    if is_nan(null):
        return "_NOT_A_NUMBER"
    if c in ("float", "double"):
        return f"<{c}>{float(null)!r}"
    if null == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    return f"<{c}>{null}{'ULL' if c == 'uint64_t' else ''}"
