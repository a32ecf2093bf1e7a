"""What targets for layouts render."""

from __future__ import annotations

from typing import Protocol

from aerowire.codegen.layouts.ir import Schema
from aerowire.codegen.tables.targets.base import TableProject


class LayoutProject(TableProject, Protocol):
    """The part of a project that targets for layouts render: layout schemas in the order given, and the tables beside them."""

    @property
    def schemas(self) -> tuple[Schema, ...]: ...
