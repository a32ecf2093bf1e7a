"""The official SBE tool as an oracle: one virtual machine for a whole run, asked line by line (java/Oracle.java).

Knows how the tool is fetched, started and asked; knows nothing of what it should answer.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.interop.harness import Artifact, Java, find_java

# The newest release on Maven Central; it asks for Java 17.
SBE_ALL = Artifact("uk.co.real-logic", "sbe-all", "1.38.1", "SBE_ALL_JAR")
SOURCES = Path(__file__).resolve().parent / "java"
ENDING_LIMIT_S = 20.0

Values = dict[str, Any]


class OfficialError(Exception):
    """The official tool refused what it was asked; the text is its exception."""


@dataclass(frozen=True)
class Verdict:
    """What the official parser says of a schema: its lines without their prefix, and the exception that ended the reading, if one did.

    `exception` is also there when the parser reported errors ("had 2 errors"); it is alone where the tool merely breaks down.
    """

    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    exception: str | None
    messages: tuple[str, ...]

    @property
    def is_valid(self) -> bool:
        return self.exception is None

    @property
    def counts(self) -> tuple[int, int]:
        """Errors and warnings."""
        return len(self.errors), len(self.warnings)


@dataclass(frozen=True)
class Decoded:
    """A message as the generated decoder read it: its name, the values as `encode` takes them (data without a character encoding in
    hexadecimal, constants too, None for what is newer than the message), how far the decoder read, and how far it skips."""

    message: str
    values: Values
    length: int
    skipped: int


class OfficialTool:
    """Asks the running tool.  A schema is read anew by `read`; the other questions are about what was read last at that path.  Its codecs
    are generated and compiled with the first message."""

    def __init__(self, process: subprocess.Popen[str], said: IO[bytes]) -> None:
        self._process = process
        self._said = said

    def read(self, schema: Path, *, xinclude: bool = True, version: int | None = None) -> Verdict:
        """Read a schema file, without what is newer than `version` where one is given."""
        answer = self.ask("read", schema, xinclude=xinclude, version=None if version is None else str(version))
        return Verdict(tuple(answer["errors"]), tuple(answer["warnings"]), answer["exception"], tuple(answer["messages"]))

    def print_json(self, schema: Path, message: bytes) -> str:
        """Decode a message, its header in front, with the official JsonPrinter; return the text that it made."""
        text: str = self.ask("print_json", schema, bytes=message.hex())["json"]
        return text

    def tokens(self, schema: Path) -> dict[str, Any]:
        """What the tool made of the schema: `header`, and `messages` by name, each a list of tokens with what is true of its kind."""
        return self.ask("tokens", schema)

    def encode(self, schema: Path, message: str, values: Values) -> bytes:
        """Fill the generated encoder of a message; return its bytes, the header in front.

        `values` has every field, group and data by the schema's names: numbers; None for an optional number's null; a char as a text
        of one character; an enum and a set as their number; dicts for composites and for the entries of a group's list; data as str
        where it has a character encoding, else as bytes.  Constants are not asked for.
        """
        answer = self.ask("encode", schema, message=message, values=values)
        return bytes.fromhex(answer["bytes"])

    def decode(self, schema: Path, message: bytes) -> Decoded:
        """Read a message with the generated decoder."""
        answer = self.ask("decode", schema, bytes=message.hex())
        return Decoded(answer["message"], answer["values"], answer["length"], answer["skipped"])

    def ask(self, question: str, schema: Path, **arguments: object) -> dict[str, Any]:
        """Ask one thing; raises OfficialError with what the tool threw."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": question, "schema": str(schema.resolve()), **arguments}, default=bytes.hex) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._said.seek(0)
            raise AssertionError(f"the official tool ended: {self._said.read().decode(errors='replace')[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        if "failure" in answer:
            raise OfficialError(answer["failure"])
        return answer


@contextmanager
def official_tool() -> Iterator[OfficialTool]:
    """Start the tool, and end it with the block; skips the test without Java or the jar."""
    java = find_java(SOURCES, SBE_ALL)
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(_command(java), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, encoding="utf-8")
        try:
            yield OfficialTool(process, said)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(ENDING_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _command(java: Java) -> list[str]:
    return java.command("Oracle")
