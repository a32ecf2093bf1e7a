"""Python flyweights of a message schema: decoders, encoders and data classes, which need nothing but the standard library."""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.package import errors_file, package_files, support_files
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.placement import Placement, dots

SUPPORT = "support"


class MessageFlyweightsTarget:
    """Renders a package: a module for each message, one each for enums, composites and header, and what they share."""

    name = "flyweights"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        folder, shared = placement.folder(self.name), placement.shared_folder()
        files = {f"{folder}/{path}": text for path, text in package_files(schema, support_name(placement)).items()}
        files |= {f"{shared}/{SUPPORT}/{path}": text for path, text in support_files().items()}
        path, text = errors_file(shared)
        files[path] = text
        if placement.is_grouped or placement.is_project:
            files[f"{shared}/{SUPPORT}/py.typed"] = ""
        return files


def support_name(placement: Placement) -> str:
    """How modules of the package name in an import what they share."""
    return dots(placement.folder("flyweights"), placement.shared_folder()) + SUPPORT
