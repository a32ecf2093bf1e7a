"""All targets for message schemas, by name."""

from __future__ import annotations

from aerowire.codegen.sbe.targets.base import MessageTarget

MESSAGE_TARGETS: dict[str, MessageTarget] = {}
