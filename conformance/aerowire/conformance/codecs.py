"""The generated codecs against bytes that Aeron's own classes wrote: each target reads and writes every vector.

Knows the file of vectors and the targets that need no compiler; knows nothing of drivers.
"""

from __future__ import annotations

import importlib
import json
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

PACKAGES = ("transport", "commands")
COLUMNS = 3


@dataclass(frozen=True)
class Vector:
    """One struct: the values of its fields, and its bytes. `line` says where it stands in its file."""

    line: int
    struct: str
    values: dict[str, Any]
    data: bytes


def load_vectors(path: Path | None = None) -> list[Vector]:
    """Return the vectors of a file, by default of the one that is installed with this package.

    Raises:
        ValueError: a line is not struct, JSON and hexadecimal bytes, or names no generated struct.
        OSError: the file cannot be read.
    """
    source = path or files("aerowire.conformance") / "vectors" / "frames_and_commands.tsv"
    found = []
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            try:
                found.append(parse(number, line))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{source.name}, line {number}: {error}") from error
    if not found:
        raise ValueError(f"{source.name}: no vectors")
    return found


def parse(number: int, line: str) -> Vector:
    columns = line.split("\t")
    if len(columns) != COLUMNS:
        raise ValueError(f"expected struct, values and bytes with tabs between, found {len(columns)} columns")
    values = json.loads(columns[1])
    if not isinstance(values, dict):
        raise ValueError("expected a JSON object of values")
    generated(columns[0], "Decoder")
    numbers = {name: bytes.fromhex(value["hex"]) if isinstance(value, dict) else value for name, value in values.items()}
    return Vector(number, columns[0], numbers, bytes.fromhex(columns[2]))


def generated(name: str, kind: str) -> Any:
    """Return the flyweight of a struct, `kind` being Decoder or Encoder."""
    for package in PACKAGES:
        if found := getattr(importlib.import_module(f"aerowire.codecs.flyweights.{package}"), f"{name}{kind}", None):
            return found
    raise ValueError(f"no generated struct is called {name!r}")


def check_flyweights(vector: Vector) -> Iterator[str]:
    decoder = generated(vector.struct, "Decoder")(vector.data)
    for name, expected in vector.values.items():
        yield from differing_value(name, expected, getattr(decoder, name))
    written = generated(vector.struct, "Encoder").encode(**vector.values)
    alignment = getattr(decoder, "ALIGNMENT", 1)
    if len(vector.data) % alignment == 0:  # the official class counts the padding as part of the struct
        written += bytes(-len(written) % alignment)
    yield from differing_byte(written, vector.data)


def check_dtypes(vector: Vector) -> Iterator[str] | None:
    import numpy as np

    decoder = generated(vector.struct, "Decoder")
    module = importlib.import_module(decoder.__module__.replace(".flyweights.", ".dtypes."))
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", vector.struct).upper()
    dtype, full = getattr(module, name), getattr(module, f"{name}_FULL", None)
    if full is not None and len(vector.data) >= full.itemsize:
        dtype = full
    return record_problems(vector, np.frombuffer(vector.data, dtype, 1)[0], np.zeros(1, dtype))


def record_problems(vector: Vector, read: Any, written: Any) -> Iterator[str]:
    for name in read.dtype.names:
        if name in vector.values:
            expected = vector.values[name]
            yield from differing_value(name, expected, read[name].tobytes() if isinstance(expected, bytes) else read[name].item())
        value = vector.values.get(name, read[name])  # lengths of variable parts are no values of a vector
        written[0][name] = list(value) if isinstance(value, bytes) else value
    yield from differing_byte(written.tobytes(), vector.data[: written.dtype.itemsize])


def check_scapy(vector: Vector) -> Iterator[str] | None:
    """Return None for what is no frame: there are layers of frames only."""
    layers = importlib.import_module("aerowire.codecs.scapy.transport")
    layer = getattr(layers, vector.struct, None)
    if layer is None or "frame_length" not in vector.values or vector.struct == "FrameHeader":
        return None
    return layer_problems(vector, layer, layers.FrameHeader(vector.data))


def layer_problems(vector: Vector, layer: Any, dissected: Any) -> Iterator[str]:
    if type(dissected) is not layer:
        yield f"dissected as {type(dissected).__name__}, expected {layer.__name__}"
        return
    values = {name: value.encode() if isinstance(value, str) else value for name, value in vector.values.items()}
    payload = values.pop("payload", b"")
    for name, expected in values.items():
        found = dissected.getfieldval(name)
        yield from differing_value(name, expected, found if isinstance(expected, bytes) else int(found))
    yield from differing_byte(bytes(layer(**values)) + payload, vector.data)


Target = Callable[[Vector], Iterator[str] | None]
TARGETS: dict[str, Target] = {"flyweights": check_flyweights, "dtypes": check_dtypes, "scapy": check_scapy}


def check(vector: Vector, target: str) -> str | None:
    """Return what is wrong with a target, "" for nothing, or None where the target has no such struct."""
    try:
        problems = TARGETS[target](vector)
        return None if problems is None else next(problems, "")
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, struct.error) as error:
        return f"{type(error).__name__}: {error}"


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
