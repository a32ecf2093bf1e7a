"""Counters of official nodes, and what keys and labels of such counters have to fulfil; `tests/data/counters/README.md` tells of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from aerowire.codecs.flyweights import cnc
from aerowire.codecs.flyweights.base import Flyweight
from aerowire.codecs.tables.counters import CounterType, format_label, parse_label

DATA = Path(__file__).resolve().parents[1] / "data" / "counters" / "official-nodes.tsv"
# Of all types from 100 on that the open parts of archive and cluster know, the one that none of them makes.
NEVER_MADE = {CounterType.CLUSTER_INVALID_REQUEST_COUNT}
MADE = {kind for kind in CounterType if kind in range(100, 118) or kind in range(200, 220) or kind in range(232, 242)} - NEVER_MADE


class OfficialCounter(NamedTuple):
    """A counter as an official node had it; the key is without the zeros at its end."""

    moment: str
    type_id: int
    value: int
    key: bytes
    label: str


def official_counters(lines: Iterable[str] | None = None) -> list[OfficialCounter]:
    """Return the rows of the file, or of lines of the same form without the one of titles."""
    if lines is None:
        lines = DATA.read_text(encoding="utf-8").splitlines()[1:]
    rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [OfficialCounter(moment, int(kind), int(value), bytes.fromhex(key), label) for moment, kind, value, key, label in rows]


def check_counter(counter: OfficialCounter) -> None:
    """Read the label and the key, write both again, and compare what they say of the same things."""
    fields = parse_label(counter.type_id, counter.label)
    assert fields is not None, counter
    assert format_label(counter.type_id, **fields) == counter.label
    metadata = cnc.CounterMetadataEncoder.encode(type_id=counter.type_id, key=counter.key.ljust(cnc.COUNTER_KEY_LENGTH_MAX, b"\0"))
    key = cnc.CounterMetadataDecoder(metadata).key_decoder()
    if key is None:
        assert counter.key == b"", counter
        return
    assert _encoded(key).rstrip(b"\0") == counter.key, counter
    told = {name: getattr(key, name) for name in key.MEMBERS}
    for archive in told.get("archive", ()):
        told["archive_id"] = archive.archive_id
    shared = set(told) & set(fields)
    assert shared, counter
    assert {name: told[name] for name in shared} == {name: fields[name] for name in shared}
    sessions = {told[name] for name in ("control_session_id", "cluster_session_id") if name in told}
    assert sessions <= {counter.value}, counter


def _encoded(flyweight: Flyweight) -> bytes:
    """Write what a decoder reads; lengths and counts are those of what is written."""
    encoder = getattr(cnc, type(flyweight).__name__.removesuffix("Decoder") + "Encoder")
    values = {name: getattr(flyweight, name) for name in flyweight.MEMBERS if not name.endswith(("_length", "_count"))}
    return bytes(encoder.encode(**{name: [*map(_encoded, value)] if isinstance(value, list) else value for name, value in values.items()}))
