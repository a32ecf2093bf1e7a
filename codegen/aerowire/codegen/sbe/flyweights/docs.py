"""Docstrings of generated classes and properties."""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.text import docstring
from aerowire.codegen.sbe.ir import Named


def class_doc(node: Named, level: int, fallback: str) -> list[str]:
    """The docstring of a class or a property: what the schema says, and whether it is deprecated."""
    more = [f"Deprecated since version {node.deprecated}."] if node.deprecated else []
    more += [f"Since version {node.since_version}."] if node.since_version else []
    return docstring(node.description or fallback, level, *more)
