"""Our ways to read and write a schema's messages, each asked in the same way: the interpreter, and generated flyweights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aerowire.codegen.sbe.interpreter import MessageCodec
from aerowire.codegen.sbe.reading import load_message_schema
from tests.support.sbe_values import Values


@dataclass(frozen=True)
class Read:
    """A message as one of ours read it, and how many bytes that took."""

    message: str
    values: Values
    length: int


class Codec(Protocol):
    """Values are in the form of tests.support.sbe_values."""

    name: str

    def encode(self, message: str, values: Values) -> bytes: ...

    def decode(self, message: bytes) -> Read: ...


class Interpreter:
    """The codec that needs no generated code."""

    name = "interpreter"

    def __init__(self, schema: Path) -> None:
        self._codec = MessageCodec(load_message_schema(schema))

    def encode(self, message: str, values: Values) -> bytes:
        return self._codec.encode(message, values)

    def decode(self, message: bytes) -> Read:
        read = self._codec.decode(message)
        return Read(read.message.name, read.values, read.length)
