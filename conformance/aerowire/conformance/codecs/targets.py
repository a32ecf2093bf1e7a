"""What is generated, and how each of it is held to a vector."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from aerowire.conformance.codecs import messages, structs, wireshark
from aerowire.conformance.codecs.vectors import Vector, read_vectors

# Problems, or None for what the target does not have.
Check = Callable[[Vector], Iterator[str] | None]
STRUCTS: dict[str, Check] = {
    "flyweights": structs.check_flyweights,
    "dtypes": structs.check_dtypes,
    "scapy": structs.check_scapy,
}
MESSAGES: dict[str, Check] = {
    "flyweights": messages.check_flyweights,
    "records": messages.check_records,
    "dtypes": messages.check_dtypes,
    "arrow": messages.check_arrow,
    "scapy": messages.check_scapy,
}
TARGETS = ("flyweights", "records", "dtypes", "arrow", "scapy", "wireshark")


def load_vectors(path: Path | None = None) -> list[Vector]:
    """Return the vectors of a file, by default those of this package. Raises ValueError, OSError."""
    return read_vectors(path, generated)


def generated(name: str) -> object:
    """Return the decoder of a struct, or of a message `schema.Message`. Raises ValueError where there is none."""
    return (messages if "." in name else structs).generated(name, "Decoder")


def check_all(vectors: Sequence[Vector], target: str) -> list[str | None]:
    """Return what is wrong with a target by each of some vectors, as `check` does: a program that is run for them is run once."""
    return wireshark.check_all(vectors) if target == "wireshark" else [check(vector, target) for vector in vectors]


def check(vector: Vector, target: str) -> str | None:
    """Return what is wrong with a target, "" for nothing, or None where the target has no such struct."""
    if target == "wireshark":
        return wireshark.check_all([vector])[0]
    known = (MESSAGES if "." in vector.struct else STRUCTS).get(target)
    if known is None:
        return None
    try:
        problems = known(vector)
        return None if problems is None else next(problems, "")
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, struct.error) as error:
        return f"{type(error).__name__}: {error}"
