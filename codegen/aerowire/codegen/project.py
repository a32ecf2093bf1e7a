"""All schemas of one run, parsed and resolved: what the targets render."""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.codegen.layouts.ir import Schema
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.tables.tables import Tables


@dataclass(frozen=True, slots=True)
class Project:
    """Layout schemas in the order given, the tables, and message schemas with the place of their code."""

    schemas: tuple[Schema, ...]
    tables: Tables
    messages: tuple[tuple[MessageSchema, Placement], ...] = ()

    @property
    def users_messages(self) -> tuple[tuple[MessageSchema, Placement], ...]:
        """The message schemas that are a user's, not the project's own."""
        return tuple((schema, place) for schema, place in self.messages if not place.is_project)
