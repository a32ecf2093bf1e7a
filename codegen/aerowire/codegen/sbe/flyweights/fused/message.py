"""The quick way between data classes and bytes: one `struct` call for each block.

It covers blocks of the lengths that the schema has, in a version that has everything.  Whatever else it meets (another
block length, an older version, bytes that are missing or wrong, a value that does not fit), the flyweights do it, or say why not.
"""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.fused.reading import Reading
from aerowire.codegen.sbe.flyweights.fused.shared import Shared
from aerowire.codegen.sbe.flyweights.fused.writing import Writing
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.rows import Row
from aerowire.codegen.sbe.flyweights.text import INDENT, literal
from aerowire.codegen.sbe.ir import Message, versions_of, walk_blocks


class Fused:
    """Writes `decode` and `encode` of one message, and a function for each of its groups that is more than a row of blocks."""

    def __init__(self, module: Module, stem: str, message: Message) -> None:
        self.module = module
        self.stem = stem
        self.message = message
        self._shared = Shared(module)

    @property
    def functions(self) -> list[str]:
        return self._shared.functions

    def methods(self) -> list[str]:
        read, write = self._decode(), self._encode()
        return ["", *read, "", *write, "", *self._encode_into()]

    # -- reading ----------------------------------------------------------------------------------------------------------

    def _decode(self) -> list[str]:
        module = self.module
        header = module.model.schema.header
        row = Row()
        row.put(0, f"{header.size}s", header.size, "head")
        expected = f"{self.message.block_length}, {self.message.id}, {module.model.schema.id}, {newest_version(self.message)}"
        check = f"{module.use('_check_head')}({module.use_class('HEADER', 'header')}, head, offset, view, {expected})"
        irregular = f'head != {module.head(self.message)} or offset < 0 or not (is_bytes or view.format == "B")'
        body = Reading(self._shared)
        body.block(self.message, self.stem, "self", row, "offset", [f"if {irregular}:", f"{INDENT}{check}"])
        stem = self.stem
        buffer = module.use("_Buffer")
        module.use("_read_record")
        return [
            "    @classmethod",
            f"    def decode(cls, buffer: {buffer}, offset: int = 0) -> {module.use('_Self')}:",
            '        """Read the message whose header starts at `offset`.  Raises SbeError when it is another or is damaged."""',
            f"        self = {module.use('_new')}(cls)",
            "        is_bytes = type(buffer) is bytes",
            "        try:",
            f"            view: {module.use('_Any')} = buffer if is_bytes else memoryview(buffer)",
            *(f"            {line}" for line in body.lines),
            f"        except {module.use('_FAILURES')}:",
            f"            return _read_record(cls, {stem}Decoder().wrap_and_apply_header(buffer, offset))",
            "        return self",
        ]

    # -- writing ----------------------------------------------------------------------------------------------------------

    def _encode(self) -> list[str]:
        module = self.module
        header = module.model.schema.header
        row = Row()
        row.put(0, f"{header.size}s", header.size, module.head(self.message))
        body = Writing(self._shared)
        body.block(self.message, self.stem, "self", row)
        return [
            "    def encode(self) -> bytes:",
            '        """The bytes of the message with its header.  Raises SbeError when a value cannot be written."""',
            "        try:",
            *(f"            {line}" for line in body.lines),
            *(f"            {line}" for line in body.result()),
            f"        except {module.use('_FAILURES')}:",
            f"            return {module.use('_encode_record')}(self, {self.stem}Encoder)",
        ]

    def _encode_into(self) -> list[str]:
        module = self.module
        module.use_class("HEADER", "header")
        return [
            f"    def encode_into(self, buffer: {module.use('_Buffer')}, offset: int = 0) -> int:",
            '        """Write the message with its header at `offset`; returns its length in bytes."""',
            f"        return {module.use('_put_bytes')}(self.encode(), buffer, offset, {literal(self.message.name)})",
        ]


def newest_version(message: Message) -> int:
    """The version from which on a message has everything."""
    blocks = list(walk_blocks(message))
    own = [one.since_version for block in blocks for one in (*block.fields, *block.groups, *block.data)]
    return max([0, *own, *(version for block in blocks for one in block.fields for version in versions_of(one.type))])
