"""Vectors: structs and messages with their values, and the bytes that Aeron's own classes made of them; how a codec differs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

COLUMNS = 3
FILES = ("frames_and_commands.tsv", "files.tsv", "archive_and_cluster.tsv")


@dataclass(frozen=True)
class Vector:
    """One struct, or one message as `schema.Message`: the values of its fields, and its bytes.

    `file` and `line` say where it stands; numbers, texts, bytes and lists of entries are the values, None is null.
    """

    file: str
    line: int
    struct: str
    values: dict[str, Any]
    data: bytes


def read_vectors(path: Path | None, check_name: Callable[[str], object]) -> list[Vector]:
    """Return the vectors of a file, by default of those that are installed with this package; `check_name` raises ValueError for no struct.

    Raises:
        ValueError: a line is not struct, JSON and hexadecimal bytes, or names no generated struct.
        OSError: the file cannot be read.
    """
    installed = files("aerowire.conformance") / "vectors"
    found: list[Vector] = []
    for source in [path] if path is not None else [installed / name for name in FILES]:
        before = len(found)
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
            if line and not line.startswith("#"):
                try:
                    vector = parse(source.name, number, line)
                    check_name(vector.struct)
                except (ValueError, KeyError, TypeError) as error:
                    raise ValueError(f"{source.name}, line {number}: {error}") from error
                found.append(vector)
        if len(found) == before:
            raise ValueError(f"{source.name}: no vectors")
    return found


def parse(file: str, number: int, line: str) -> Vector:
    """Return the vector of a line."""
    columns = line.split("\t")
    if len(columns) != COLUMNS:
        raise ValueError(f"expected struct, values and bytes with tabs between, found {len(columns)} columns")
    values = json.loads(columns[1])
    if not isinstance(values, dict):
        raise ValueError("expected a JSON object of values")
    return Vector(file, number, columns[0], read_values(values), bytes.fromhex(columns[2]))


def read_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a JSON object: `{"hex": ...}` are bytes, lists hold numbers or entries of a group."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, list):
            found[name] = [read_values(entry) if isinstance(entry, dict) else entry for entry in value]
        else:
            found[name] = bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
    return found


def differing_value(name: str, expected: Any, found: Any) -> Iterator[str]:
    if found != expected:
        yield f"{name}: expected {expected!r}, read {found!r}"


def differing_byte(written: bytes, expected: bytes) -> Iterator[str]:
    if written == expected:
        return
    at = next((at for at, (one, other) in enumerate(zip(written, expected, strict=False)) if one != other), None)
    if at is None:
        yield f"wrote {len(written)} bytes, expected {len(expected)}"
    else:
        yield f"byte {at}: expected {expected[at]:#04x}, wrote {written[at]:#04x}"
