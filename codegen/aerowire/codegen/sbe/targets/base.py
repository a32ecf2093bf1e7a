"""What a target for message schemas is."""

from __future__ import annotations

from typing import Protocol

from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.placement import Placement


class MessageTarget(Protocol):
    """A target renders one message schema to texts by path, relative to the output folder."""

    name: str

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]: ...
