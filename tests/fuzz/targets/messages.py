"""SBE messages of any bytes: interpreter, JSON form and generated code agree or all refuse; AEROWIRE_FUZZ_COMPILED adds compiled code."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from aerowire.codegen.sbe.interpreter import JsonCodec, MessageCodec, MessageError
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.transcoding.encoding import parse_json
from tests.codegen.sbe.packages import SCHEMAS, import_native, import_package
from tests.codegen.sbe.plain_messages import Writer
from tests.fuzz.target import FindingError

SCHEMA = "trading.xml"
SANITIZED = "-O1 -g1 -fsanitize=address,undefined -fsanitize-coverage=trace-pc,trace-cmp -fno-wrapv -fno-sanitize=alignment"


def sample_messages(count: int) -> list[bytes]:
    """Return messages of the schema, of several versions."""
    schema = load_message_schema(SCHEMAS / SCHEMA, SCHEMA)
    writer = Writer(schema, Random(18))
    return [writer.message(schema.messages[0], version)[0] for version in (0, 1, 2, 3) for _ in range(count)]


class MessageTarget:
    """One message with its header."""

    name = "sbe"
    length_max = 700
    words = (b"\xff\xff", b"\0\0", b"\x01\0", b"\xff\xff\xff\xff", b"\xfe\xff", b"\xc3\x28")
    traced = ("codegen/sbe/interpreter",)

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="messages-"))
        schema = load_message_schema(SCHEMAS / SCHEMA, SCHEMA)
        if "AEROWIRE_FUZZ_COMPILED" in os.environ:
            self._python, self._native = import_native((SCHEMAS / SCHEMA).read_text(), folder, flags=SANITIZED)
        else:  # compiling with sanitizers takes a minute
            self._python = self._native = import_package(schema, folder)
        self._codec, self._json = MessageCodec(schema), JsonCodec(schema)

    def seeds(self) -> Iterable[bytes]:
        """Return messages of each version."""
        yield b"\0"
        yield from sample_messages(2)

    def execute(self, data: bytes) -> None:
        """Decode in every way."""
        read = [
            self._outcome(lambda: repr(self._python.decode(data)), self._python.SbeError),
            self._outcome(lambda: repr(self._native.decode(data)), self._python.SbeError),
        ]
        if read[0] != read[1]:
            raise FindingError(f"generated Python says {read[0]!r}, compiled code {read[1]!r}")
        self._outcome(lambda: self._python.decoder_of(data).to_dict(), self._python.SbeError)
        interpreted = self._outcome(lambda: self._codec.decode(data), MessageError)
        if (interpreted is None) != (read[0] is None):
            raise FindingError(f"interpreter: {interpreted!r}, generated code: {read[0]!r}")
        values = self._outcome(lambda: self._json.decode_whole(data), MessageError)
        if values is not None and self._json.encode(parse_json(json.dumps(values).encode())) != data:
            raise FindingError("a message in JSON does not give its bytes back")

    @staticmethod
    def _outcome(call: Any, refusal: type[Exception]) -> Any:
        """Return what came out, None where the message was refused."""
        try:
            return call()
        except refusal:
            return None


class JsonTarget:
    """A line of JSON that is to become a message."""

    name = "sbe-json"
    length_max = 1500
    words = (
        b'"_header"',
        b"null",
        b"1e999",
        b"-1",
        b"[]",
        b"{}",
        b'"',
        b"\\u0000",
        b"\\ud800",
        b"18446744073709551616",
        b"true",
        b'"_rest":',
    )
    traced = ("codegen/sbe/interpreter", "sbe/transcoding")

    def __init__(self) -> None:
        self._json = JsonCodec(load_message_schema(SCHEMAS / SCHEMA, SCHEMA))

    def seeds(self) -> Iterable[bytes]:
        """Return messages of each version in their JSON form."""
        for raw in sample_messages(1):
            yield json.dumps(self._json.decode_whole(raw)).encode()[: self.length_max]
        yield b"{}"
        yield b"[" * 1000

    def execute(self, data: bytes) -> None:
        """Encode; what is encoded can be decoded."""
        try:
            message = self._json.encode(parse_json(data))
        except MessageError:
            return
        self._json.decode(message)
