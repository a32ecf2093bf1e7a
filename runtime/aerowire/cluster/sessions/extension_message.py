"""A message of another schema than the cluster's, on ingress, log or egress: that of an extension."""

from __future__ import annotations

from typing import NamedTuple

from aerowire.codecs.flyweights.cluster.header import HEADER


class ExtensionMessage(NamedTuple):
    """A message of another schema than the cluster's; `payload` is the part behind its SBE header."""

    schema_id: int
    template_id: int
    version: int
    block_length: int
    payload: bytes

    @classmethod
    def decode(cls, message: bytes) -> ExtensionMessage:
        """Return the parts of a message, which must have a header."""
        block_length, template_id, schema_id, version = HEADER.unpack(memoryview(message), 0)
        return cls(schema_id, template_id, version, block_length, message[HEADER.size :])

    def encode(self) -> bytes:
        """Return the message with its header."""
        head = bytearray(HEADER.size)
        HEADER.pack(memoryview(head), 0, self.block_length, self.template_id, self.schema_id, self.version)
        return bytes(head) + self.payload
