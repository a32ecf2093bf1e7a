"""All schemas of one run, parsed and resolved: what the targets render."""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.codegen.ir import Schema
from aerowire.codegen.tables import Tables


@dataclass(frozen=True, slots=True)
class Project:
    """Layout schemas in the order given, and the tables."""

    schemas: tuple[Schema, ...]
    tables: Tables
