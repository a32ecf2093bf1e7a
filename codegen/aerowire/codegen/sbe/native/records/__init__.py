"""Cython of the data classes: extension types that read and write themselves, every length checked before use.

What is irregular (an error, a value of another type, an entry of another class) is left to the flyweights, which do it or say why not.
"""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.docs import class_doc
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.values import Owner
from aerowire.codegen.sbe.ir import Message
from aerowire.codegen.sbe.naming import property_names
from aerowire.codegen.sbe.native.records.declaration import Declaration
from aerowire.codegen.sbe.native.records.reading import Reader
from aerowire.codegen.sbe.native.records.writing import Writer
from aerowire.codegen.sbe.native.words import class_given_back, given_back


def add_record(module: Module, stem: str, owner: Owner) -> None:
    """The extension type of a message, an entry or a composite, with its reader and its writer."""
    declaration = Declaration(module, stem, owner)
    module.lines += ["", "", f"cdef class {declaration.kind}:", *class_doc(owner, 1, f"{owner.name} as plain values.")]
    module.lines += declaration.body()
    names = [*given_back(stem, property_names(owner).values()), *class_given_back(stem)]
    module.lines += ["", "", *names] if names else []
    module.lines += ["", "", *Reader(module, stem, owner).reader()]
    if isinstance(owner, Message):
        module.lines += declaration.quick_decode(owner)
    module.lines += ["", "", *Writer(module, stem, owner).writer()]
