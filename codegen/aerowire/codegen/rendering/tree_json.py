"""A resolved tree as JSON: every node with its fields in the order in which the tree declares them.

Numbers are what they are, 64 bits wide at most; NaN, for which JSON has no number, is the text "NaN".  What a node computes of its
fields (a size, the null value that applies) stands beside them.  docs/codegen-json.md tells the shape.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from aerowire.codegen.primitives import Primitive

Json = dict[str, Any]
# By class: the word that tells it from others in its place, and the properties that are written beside the fields.
Notes = Mapping[type, tuple[str, tuple[str, ...]]]


def node_json(node: Any, notes: Notes, refer: Callable[[Any], str | None] = lambda _: None) -> Any:
    """A node and what is below it; `refer` gives the name of a node that is written elsewhere."""
    if node is None or isinstance(node, bool | str | int):
        return str(node) if isinstance(node, Enum) else node
    if isinstance(node, float):
        return _float(node)
    if isinstance(node, Primitive):
        return node.name
    if isinstance(node, tuple):
        return [_inner(one, notes, refer) for one in node]
    kind, properties = notes.get(type(node), ("", ()))
    found: Json = {"kind": kind} if kind else {}
    for field in dataclasses.fields(node):
        if field.name != "location":
            found[field.name] = _inner(getattr(node, field.name), notes, refer)
    for name in properties:
        found[name] = _inner(getattr(node, name), notes, refer)
    return found


def _inner(node: Any, notes: Notes, refer: Callable[[Any], str | None]) -> Any:
    name = refer(node) if dataclasses.is_dataclass(node) else None
    return name if name is not None else node_json(node, notes, refer)


def _float(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def json_text(tree: Json) -> str:
    return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
