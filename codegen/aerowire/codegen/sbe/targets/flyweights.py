"""Python flyweights of a message schema: decoders, encoders and data classes, which need nothing but the standard library."""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.package import package_files
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.placement import Placement


class MessageFlyweightsTarget:
    """Renders a package: a module for each message, one each for enums, composites and header, and what they share."""

    name = "flyweights"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        folder = placement.folder(self.name)
        return {f"{folder}/{path}": text for path, text in package_files(schema).items()}
