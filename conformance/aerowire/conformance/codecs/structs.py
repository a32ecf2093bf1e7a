"""The generated codecs of frames, commands and responses: each target reads and writes every vector."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

from aerowire.conformance.codecs.vectors import Vector, differing_byte, differing_value

PACKAGES = ("transport", "commands")


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
