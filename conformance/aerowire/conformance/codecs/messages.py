"""The generated codecs of SBE messages: each target reads and writes every vector.

A vector may be of an older version of its schema: newer members then read as null or empty, and only what is of the newest version has
to be written with the same bytes.
"""

from __future__ import annotations

import enum
import importlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from aerowire.conformance.codecs.vectors import Vector, differing_byte, differing_value

SCHEMAS = ("archive", "archive_mark", "cluster", "cluster_mark", "cluster_node_state")
ROOM = 1 << 16
# What a member reads as that an older message does not have; an enum has a value of its own for it.
NOTHING: tuple[object, ...] = (None, b"", "", [])
NULL_NAME = "NULL_VALUE"


def module_of(vector: Vector, target: str) -> Any:
    """Return the generated module of a message's schema for a target."""
    return importlib.import_module(f"aerowire.codecs.{target}.{vector.struct.partition('.')[0]}")


def generated(name: str, kind: str = "") -> Any:
    """Return the data class of a message `schema.Message`, or with a kind its Decoder or Encoder. Raises ValueError where there is none."""
    schema, _, message = name.partition(".")
    module = importlib.import_module(f"aerowire.codecs.flyweights.{schema}") if schema in SCHEMAS else None
    found = getattr(module, f"{pascal(message)}{kind}", None)
    if found is None:
        raise ValueError(f"no generated message is called {name!r}")
    return found


def pascal(name: str) -> str:
    """Return the name of a class for a message's."""
    return name[:1].upper() + name[1:]


def snake(name: str) -> str:
    """Return a name of the schema as Python has it."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def differing(expected: Mapping[str, Any], found: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """Say in which members what was read differs; `found` is by names of Python, and may have newer members."""
    known = {snake(name): value for name, value in expected.items()}
    for name, value in known.items():
        if name not in found:
            yield f"{where}{name}: expected {value!r}, there is none"
        elif isinstance(value, list):
            entries = found[name]
            if len(entries) != len(value):
                yield f"{where}{name}: expected {len(value)} entries, read {len(entries)}"
            for index, (wanted, entry) in enumerate(zip(value, entries, strict=False)):
                yield from differing(wanted, entry, f"{where}{name}[{index}].")
        else:
            yield from differing_value(f"{where}{name}", value, plain(found[name]))
    for name in found.keys() - known.keys():
        if plain(found[name]) not in NOTHING and getattr(found[name], "name", "") != NULL_NAME:
            yield f"{where}{name}: expected nothing in a message without it, read {found[name]!r}"


def plain(value: Any) -> Any:
    """Return a value without what a target adds to it."""
    if isinstance(value, enum.IntEnum):
        return int(value)
    return bytes(value) if isinstance(value, memoryview | bytearray) else value


def is_newest(vector: Vector) -> bool:
    """Say whether a vector was written by the version of the schema that is generated."""
    decoder = generated(vector.struct, "Decoder")().wrap_and_apply_header(vector.data)
    return bool(decoder.acting_version == decoder.SBE_SCHEMA_VERSION)


def check_flyweights(vector: Vector) -> Iterator[str]:
    """Decoder and encoder."""
    decoder = generated(vector.struct, "Decoder")().wrap_and_apply_header(vector.data)
    yield from differing(vector.values, decoder.to_dict())
    yield from differing_value("end of the message", len(vector.data), decoder.sbe_skip())
    buffer = bytearray(ROOM)
    encoder = generated(vector.struct, "Encoder")().wrap_and_apply_header(buffer)
    # What stands in the header beyond SBE's members is nobody's.
    header = len(vector.data) - decoder.encoded_length
    write(encoder, decoder.to_dict())
    written = bytes(buffer[: header + encoder.encoded_length])
    yield from differing_message(vector, written)


def write(encoder: Any, values: Mapping[str, Any]) -> None:
    """Write values in the schema's order, which is theirs."""
    for name, value in values.items():
        if isinstance(value, list):
            for entry, wanted in zip(getattr(encoder, name)(len(value)), value, strict=True):
                write(entry, wanted)
        else:
            setattr(encoder, name, value)


def differing_message(vector: Vector, written: bytes) -> Iterator[str]:
    """Say how what was written differs: in its bytes, or of an older version in what it says."""
    if is_newest(vector):
        yield from differing_byte(written, vector.data)
    else:
        yield from differing(vector.values, generated(vector.struct).decode(written).to_dict(), "written ")


def check_records(vector: Vector) -> Iterator[str]:
    """The data class."""
    record = generated(vector.struct)
    found = record.decode(vector.data)
    yield from differing(vector.values, found.to_dict())
    yield from differing_message(vector, record.from_dict(found.to_dict()).encode())


def check_dtypes(vector: Vector) -> Iterator[str]:
    """The columns of a message alone."""
    columns = module_of(vector, "dtypes").MESSAGES[vector.struct.partition(".")[2]].decode(vector.data)
    for name, value in vector.values.items():
        if isinstance(value, list):
            yield from differing_group(name, value, columns.groups[name])
        elif name in columns.data:
            yield from differing_value(name, value.encode() if isinstance(value, str) else value, bytes(columns.data[name][0]))
        elif value is None:
            yield from differing_value(f"{name} is null", True, bool(columns.nulls(name)[0]))
        else:
            yield from differing_value(name, value, columns[name][0].item())


def differing_group(name: str, expected: list[dict[str, Any]], group: Any) -> Iterator[str]:
    """Say how the entries of a group differ."""
    yield from differing_value(f"offsets of {name}", [0, len(expected)], group.offsets.tolist())
    entries = group.entries
    for index, wanted in enumerate(expected):
        for member, value in wanted.items():
            where = f"{name}[{index}].{member}"
            if member in entries.data:
                yield from differing_value(where, value.encode() if isinstance(value, str) else value, bytes(entries.data[member][index]))
            elif value is None:
                yield from differing_value(f"{where} is null", True, bool(entries.nulls(member)[index]))
            else:
                yield from differing_value(where, value, entries[member][index].item())


def check_arrow(vector: Vector) -> Iterator[str] | None:
    """The record batch of a message alone; None where pyarrow is not installed."""
    try:
        module = module_of(vector, "arrow")
    except ImportError:
        return None
    row = module.MESSAGES[vector.struct.partition(".")[2]].decode(vector.data).to_pylist()[0]
    return differing(by_name(vector.values, generated(vector.struct).decode(vector.data).to_dict()), snaked(row))


def by_name(values: Mapping[str, Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with names in place of the numbers of enums, as Arrow's columns have them."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        known = typed[snake(name)]
        if isinstance(value, list):
            found[name] = [by_name(entry, one) for entry, one in zip(value, known, strict=True)]
        else:
            found[name] = known.name if isinstance(known, enum.IntEnum) else value
    return found


def snaked(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row by names of Python."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        found[snake(name)] = [snaked(entry) for entry in value] if isinstance(value, list) else value
    return found


def check_scapy(vector: Vector) -> Iterator[str] | None:
    """The layer."""
    module = module_of(vector, "scapy")
    packet = module.dissect(vector.data)
    layer = packet.getlayer(getattr(module, pascal(vector.struct.partition(".")[2])))
    return layer_problems(vector, packet, layer)


def layer_problems(vector: Vector, packet: Any, layer: Any) -> Iterator[str]:
    """Say how a packet differs from the message that it was made of."""
    if layer is None:
        yield f"dissected as {packet.summary()}"
        return
    yield from differing_layer(vector.values, layer)
    again = packet.copy()
    again.clear_cache()
    yield from differing_byte(bytes(again), vector.data)


def differing_layer(values: Mapping[str, Any], layer: Any, where: str = "") -> Iterator[str]:
    """Say in which members a layer differs. Null is whatever number the schema has for it."""
    for name, value in values.items():
        # A name that scapy's packets need themselves has an underscore.
        found = layer.getfieldval(snake(name) if snake(name) in layer.fieldtype else f"{snake(name)}_")
        if isinstance(value, list):
            yield from differing_value(f"entries of {where}{name}", len(value), len(found))
            for index, (wanted, entry) in enumerate(zip(value, found, strict=False)):
                yield from differing_layer(wanted, entry, f"{where}{name}[{index}].")
        elif isinstance(value, str | bytes):
            yield from differing_value(f"{where}{name}", value.encode() if isinstance(value, str) else value, as_bytes(found))
        elif value is not None:
            yield from differing_value(f"{where}{name}", value, int(found))


def as_bytes(value: Any) -> bytes:
    """Return text or bytes as bytes."""
    return value.encode() if isinstance(value, str) else bytes(value)
