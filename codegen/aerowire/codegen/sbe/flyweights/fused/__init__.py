"""The quick way between data classes and bytes: `decode` and `encode` of whole messages."""

from aerowire.codegen.sbe.flyweights.fused.message import Fused

__all__ = ["Fused"]
