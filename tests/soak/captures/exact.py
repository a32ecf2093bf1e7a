"""Captures read exactly: every field of every frame as tshark decodes it, and no frame among traffic that is not Aeron.

Where tshark is wrong or silent (see tests/support/captures/frame_sums.py), the truth is the builder's, or plain struct calls on
the golden captures.
"""

from __future__ import annotations

import json
import shutil
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aerowire.pcap import Capture
from tests.soak.bars import Part, Size
from tests.support.captures import frame_sums
from tests.support.captures.corpus import ENTRIES, ERROR_TEXT, Corpus, Sums, build
from tests.support.captures.frame_sums import KINDS, OTHERS, Key
from tests.support.captures.hostile import mix
from tests.support.captures.tshark import REASON, joined

CAPTURES = Path(__file__).parents[2] / "data" / "captures"
PACKETS = {Size.FULL: 2_000_000, Size.SMALL: 20_000}
HOSTILE = {Size.FULL: (100_000, 200_000), Size.SMALL: (5_000, 10_000)}  # packets of Aeron, and of others
SEED = 1


def golden(size: Size, scratch: Path) -> str:
    """Compare the captures of the official driver; at small size as one file, since a start of tshark takes longer than they do."""
    index = json.loads((CAPTURES / "index.json").read_text())
    fields = frames = 0
    for path, ports, counts in [_joined(index, scratch)] if size is Size.SMALL else _each(index):
        name = path.name
        compared = {**frame_sums.plainly(path), **_by_tshark(path, ports, size, scratch)}
        for chosen in (ports, None):
            found = frame_sums.ours(path, chosen)
            _check_equal(compared, found, name)
            assert {key[0] for key in found} == {key[0] for key in compared} or shutil.which("tshark") is None, name
        fields += len(compared)
        frames += sum(one.count for (_, field), one in found.items() if field == "type")
        for kind in OTHERS:
            assert found.get((kind, "type"), Sums()).count == counts[kind], name
    return f"{len(index)} captures, {frames} frames, {fields} fields equal"


def _each(index: dict[str, dict[str, Any]]) -> Iterator[tuple[Path, list[int], Counter[str]]]:
    """Yield each capture with its ports and the counts of its frames by kind."""
    for name, entry in sorted(index.items()):
        yield CAPTURES / name, entry["ports"], Counter(entry["frames"])


def _joined(index: dict[str, dict[str, Any]], scratch: Path) -> tuple[Path, list[int], Counter[str]]:
    paths, ports, counts = zip(*_each(index), strict=True)
    return joined(scratch / "golden.pcap", paths), sorted(set(chain(*ports))), sum(counts, Counter())


def large(size: Size, scratch: Path) -> str:
    """Compare a large capture with tshark, and with what its builder put into it."""
    corpus = build(scratch / "large.pcap", PACKETS[size], SEED)
    found = frame_sums.ours(corpus.path, corpus.ports)
    assert frame_sums.ours(corpus.path, None) == found
    _check_built(corpus, found)
    by_tshark = _by_tshark(corpus.path, corpus.ports, size, scratch)
    _check_equal(by_tshark, found, f"seed {SEED}")
    corpus.path.unlink()
    frames = sum(one.count for (_, field), one in found.items() if field == "type")
    return f"{corpus.packets} packets, {frames} frames, {len(found)} fields equal the builder's, {len(by_tshark)} of them tshark's"


def _by_tshark(path: Path, ports: list[int], size: Size, scratch: Path) -> dict[Key, Sums]:
    if shutil.which("tshark") is None:
        assert size is Size.SMALL, REASON
        pytest.skip(REASON)
    return frame_sums.tshark(path, ports, scratch)


def _check_equal(expected: Mapping[Key, Sums], found: Mapping[Key, Sums], where: str) -> None:
    wrong = {key: (one, found.get(key)) for key, one in expected.items() if found.get(key) != one}
    assert not wrong, f"{where}: (expected, found) differ: {wrong}"


def _check_built(corpus: Corpus, found: Mapping[Key, Sums]) -> None:
    """Hold every field that the builder wrote to what was read; tshark's two kinds of data are one here."""
    names = {kind: [KINDS.get(kind, kind)] for kind, _ in corpus.sums} | {"DATA": ["data", "heartbeat"]}
    for (kind, field), expected in corpus.sums.items():
        parts = [found[name, field] for name in names[kind] if (name, field) in found]
        if field == "reserved_value":  # of padding and heartbeats it is nothing that tshark shows; see below
            continue
        totals = (sum(one.total for one in parts) % 2**64, sum(one.weighted for one in parts) % 2**64)
        assert (sum(one.count for one in parts), *totals) == (expected.count, expected.total, expected.weighted), (kind, field)
    capture = Capture(corpus.path, ports=corpus.ports, columns=["type", "packet_index", "reserved_value", "error_text", "entries"])
    reserved: dict[str, Sums] = {"DATA": Sums(), "PAD": Sums()}
    texts, entries = set(), []
    for batch in capture.batches():
        kinds = np.array(batch["type"].to_pylist())
        for kind, sums in reserved.items():
            rows = np.flatnonzero(kinds == kind)
            sums.add(batch["reserved_value"].take(rows).to_numpy().view(np.uint64), batch["packet_index"].take(rows).to_numpy())
        texts |= set(batch["error_text"].drop_null().to_pylist())
        entries += batch["entries"].drop_null().to_pylist()
    assert reserved == {kind: corpus.sums[kind, "reserved_value"] for kind in reserved}
    assert texts == {ERROR_TEXT.decode()}
    assert len(entries) == corpus.sums["RES", "type"].count
    wanted = [dict(zip(("res_type", "res_flags", "udp_port", "age_ms", "address", "name"), entry, strict=True)) for entry in ENTRIES]
    assert all(entry == wanted for entry in entries)


def hostile(size: Size, scratch: Path) -> str:
    """Read Aeron among other traffic: its own datagrams and no other, by ports and by the flow rule."""
    aeron, others = HOSTILE[size]
    corpus = build(scratch / "aeron.pcap", aeron, SEED)
    path = scratch / "mixed.pcap"
    places = mix(corpus.path, path, others, SEED)
    for ports in (corpus.ports, None):
        capture = Capture(path, ports=ports)
        found = capture.read()
        kept = found["packet_index"].to_numpy()
        assert np.array_equal(np.unique(kept), np.array(places)), _difference(kept.tolist(), places)
        assert found.num_rows == sum(one.count for (_, field), one in corpus.sums.items() if field == "type")
        assert (capture.statistics.datagrams, capture.statistics.skipped.total()) == (aeron, others)
    passed = _first_look(path)
    assert passed > others // 100  # else the other traffic would prove nothing
    return f"{aeron} packets of Aeron among {others} others, {passed} of which pass a driver's first look: no false frame, none missing"


def _difference(found: Iterable[int], expected: Iterable[int]) -> str:
    false, missing = sorted(set(found) - set(expected)), sorted(set(expected) - set(found))
    return f"seed {SEED}: {len(false)} packets are no Aeron, such as {false[:5]}; {len(missing)} are missing, such as {missing[:5]}"


def _first_look(path: Path) -> int:
    """Count the datagrams of other networks that a driver's transport would take for data: whole, version 0, type 0 or 1, aligned."""
    data, at, count = path.read_bytes(), 24, 0
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        packet = data[at + 16 : at + 16 + length]
        at += 16 + length
        is_other = packet[26:28] == b"\xc0\xa8" if packet[12:14] == b"\x08\0" else packet[22:24] == b"\xfd\x01"
        payload = packet[14 + (28 if packet[12:14] == b"\x08\0" else 48) :]
        if is_other and len(payload) >= 32 and len(payload) % 32 == 0:
            frame_length, version, _, kind = struct.unpack_from("<ibBh", payload)
            count += frame_length >= 0 and version == 0 and kind in (0, 1)
    return count


def parts(size: Size) -> list[Part]:
    return [
        Part("golden", SEED, partial(golden, size)),
        Part("large", SEED, partial(large, size)),
        Part("hostile", SEED, partial(hostile, size)),
    ]
