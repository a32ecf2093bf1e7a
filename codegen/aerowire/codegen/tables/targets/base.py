"""What targets for tables render."""

from __future__ import annotations

from typing import Protocol

from aerowire.codegen.tables.tables import Tables


class TableProject(Protocol):
    """The part of a project that targets for tables render."""

    @property
    def tables(self) -> Tables: ...
