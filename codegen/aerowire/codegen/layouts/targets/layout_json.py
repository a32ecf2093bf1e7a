"""Layouts as JSON, one file per schema."""

from __future__ import annotations

from aerowire.codegen.layouts.ir import Repeat, Struct, Var, Variant
from aerowire.codegen.layouts.targets.base import LayoutProject
from aerowire.codegen.rendering.base import module_path
from aerowire.codegen.rendering.tree_json import Notes, json_text, node_json

NOTES: Notes = {Struct: ("", ("full_length",)), Var: ("var", ()), Repeat: ("repeat", ()), Variant: ("variant", ())}


class JsonTarget:
    """Renders one file per layout schema."""

    name = "json"

    def render(self, project: LayoutProject) -> dict[str, str]:
        return {
            module_path(self.name, schema.package, ".json"): json_text({"format": "aerowire layout 1", **node_json(schema, NOTES)})
            for schema in project.schemas
        }
