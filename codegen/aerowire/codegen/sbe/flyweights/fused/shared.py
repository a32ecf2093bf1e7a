"""What the quick way's readers and writers of one message share: the names of locals, functions and codecs."""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.values import Value


def in_row(value: Value) -> str:
    """A row of numbers is taken as bytes, which have a codec of their own."""
    return f"{value.size}s" if value.kind in {"text", "numbers"} else value.code


class Shared:
    """What is made for a message besides its two methods: functions for groups, and codecs; each has a name of its own."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.functions: list[str] = []
        self._codecs = 0
        self._functions = 0
        self._locals = 0

    def local(self, start: str) -> str:
        self._locals += 1
        return f"{start}{self._locals}"

    def function_name(self, purpose: str) -> str:
        self._functions += 1
        return f"_{purpose}_entries_{self._functions}"

    def codec(self, purpose: str, code: str, method: str) -> str:
        self._codecs += 1
        return self.module.fused(f"{purpose}_{self._codecs}", code, method)
