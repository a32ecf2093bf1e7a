"""A message schema as JSON: the resolved tree, for programs that are not written in Python."""

from __future__ import annotations

from typing import Any

from aerowire.codegen.rendering.tree_json import Notes, json_text, node_json
from aerowire.codegen.sbe.ir import (
    Composite,
    Data,
    EncodedType,
    Enum,
    Field,
    FlagSet,
    Group,
    Header,
    Member,
    Message,
    MessageSchema,
)
from aerowire.codegen.sbe.placement import Placement

NOTES: Notes = {
    EncodedType: ("encoded", ("size", "null", "minimum", "maximum")),
    Enum: ("enum", ("size",)),
    FlagSet: ("set", ("size",)),
    Composite: ("composite", ()),
    Member: ("", ("presence", "size")),
    Field: ("", ("size",)),
    Data: ("", ("length_offset", "data_offset", "encoding", "max_length")),
    Group: ("", ()),
    Message: ("", ()),
    Header: ("", ("size",)),
}


class JsonMessages:
    """Renders one file per message schema."""

    name = "json"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        return {placement.file(self.name, ".json"): json_text(schema_json(schema))}


def schema_json(schema: MessageSchema) -> dict[str, Any]:
    """The tree; a type of the schema is written once, under `types`, and is named elsewhere."""
    named = {one.name: one for one in schema.types}

    def refer(node: Any) -> str | None:
        is_type = isinstance(node, EncodedType | Enum | FlagSet | Composite)
        return node.name if is_type and named.get(node.name) == node else None

    found = node_json(schema, NOTES, refer)
    found["types"] = [node_json(one, NOTES, refer) for one in schema.types]
    return {"format": "aerowire messages 1", **found}
