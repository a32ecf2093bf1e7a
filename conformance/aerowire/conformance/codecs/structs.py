"""The generated codecs of frames, commands, responses and what stands in files: each target reads and writes every vector."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

from aerowire.conformance.codecs.vectors import Vector, differing_byte, differing_value

# Members that are lists of another struct.
LISTS = {"entries": "ResolutionEntry"}
# Members that a layer calls otherwise, its own members having the name.
LAYER_NAMES = {"name": "entry_name"}
PACKAGES = ("transport", "commands", "cnc", "logbuffer", "recording_log")


def generated(name: str, kind: str) -> Any:
    """Return the flyweight of a struct, `kind` being Decoder or Encoder."""
    for package in PACKAGES:
        if found := getattr(importlib.import_module(f"aerowire.codecs.flyweights.{package}"), f"{name}{kind}", None):
            return found
    raise ValueError(f"no generated struct is called {name!r}")


def check_flyweights(vector: Vector) -> Iterator[str]:
    decoder = generated(vector.struct, "Decoder")(vector.data)
    for name, expected in vector.values.items():
        yield from differing_value(name, expected, read_member(decoder, name, expected))
    written = encode(vector.struct, vector.values)
    alignment = getattr(decoder, "ALIGNMENT", 1)
    if len(vector.data) % alignment == 0:  # the official class counts the padding as part of the struct
        written += bytes(-len(written) % alignment)
    yield from differing_byte(written, vector.data)


def read_member(decoder: Any, name: str, expected: Any) -> Any:
    """Return what a flyweight reads, in the form that a vector has it."""
    read = getattr(decoder, name)
    if not isinstance(expected, list):
        return read
    if name in LISTS:
        known = chain(expected, repeat({}))  # an entry in excess makes the lists differ
        return [{one: read_member(entry, one, value) for one, value in values.items()} for entry, values in zip(read, known, strict=False)]
    return list(read)


def encode(struct: str, values: dict[str, Any]) -> bytes:
    """Return the bytes of a struct as the flyweights write them."""
    given = {name: [encode(LISTS[name], entry) for entry in value] if name in LISTS else value for name, value in values.items()}
    written: bytes = generated(struct, "Encoder").encode(**given)
    return written


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
            found = read[name].tobytes() if isinstance(expected, bytes) else read[name].tolist()
            yield from differing_value(name, expected, found)
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
    values = {name: layer_value(value) for name, value in vector.values.items()}
    payload = values.pop("payload", b"")
    for name, expected in values.items():
        found = dissected.getfieldval(name)
        if name in LISTS:
            yield from layer_entries(expected, found)
        else:
            yield from differing_value(name, expected, found if isinstance(expected, bytes) else int(found))
    for name, struct in LISTS.items():
        if name in values:
            values[name] = [entry_layer(struct, entry) for entry in values[name]]
    yield from differing_byte(bytes(layer(**values)) + payload, vector.data)


def layer_entries(expected: list[dict[str, Any]], found: list[Any]) -> Iterator[str]:
    yield from differing_value("entries", len(expected), len(found))
    for place, (values, entry) in enumerate(zip(expected, found, strict=False)):
        for name, value in values.items():
            read = entry.getfieldval(LAYER_NAMES.get(name, name))
            yield from differing_value(f"entries[{place}].{name}", layer_value(value), read if isinstance(read, bytes) else int(read))


def entry_layer(struct: str, values: dict[str, Any]) -> Any:
    """Return the layer of an entry."""
    layers = importlib.import_module("aerowire.codecs.scapy.transport")
    return getattr(layers, struct)(**{LAYER_NAMES.get(name, name): layer_value(value) for name, value in values.items()})


def layer_value(value: Any) -> Any:
    """Return a value of a vector as a layer has it."""
    return value.encode() if isinstance(value, str) else value
