"""Every capture of the official C driver decodes to the counts that an independent parser found, by three readers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import UDP
from scapy.utils import rdpcap

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, FRAME_DECODERS, FrameType
from aerowire.codecs.scapy.transport import aeron_frames
from aerowire.pcap import Capture

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
INDEX: dict[str, dict[str, Any]] = json.loads((CAPTURES / "index.json").read_text())
# (type name, frame length, flags, index in the datagram, what tells a data frame's place)
Seen = tuple[str, int, int, int, tuple[int, ...]]


def by_columns(path: Path, ports: list[int] | None) -> Iterator[Seen]:
    names = ["type", "frame_length", "flags", "frame_index", "session_id", "stream_id", "term_id", "term_offset"]
    for row in Capture(path, ports=ports, columns=names).read().to_pylist():
        place = (row["session_id"], row["stream_id"], row["term_id"], row["term_offset"])
        yield row["type"], row["frame_length"], row["flags"], row["frame_index"], place


@cache
def udp_of(path: Path) -> list[tuple[set[int], bytes]]:
    """Ports and payload of each datagram, as scapy reads the file."""
    return [({packet[UDP].sport, packet[UDP].dport}, bytes(packet[UDP].payload)) for packet in rdpcap(str(path)) if UDP in packet]


def datagrams(path: Path, ports: list[int]) -> Iterator[bytes]:
    return (payload for ends, payload in udp_of(path) if ends & set(ports))


def by_flyweights(path: Path, ports: list[int]) -> Iterator[Seen]:
    for datagram in datagrams(path, ports):
        at = index = 0
        while at < len(datagram):
            kind = int.from_bytes(datagram[at + 6 : at + 8], "little", signed=True)
            frame: Any = FRAME_DECODERS[kind](datagram, at, len(datagram) - at)
            is_stream = kind in (FrameType.DATA, FrameType.PAD)
            place = (frame.session_id, frame.stream_id, frame.term_id, frame.term_offset) if is_stream else ()
            yield FrameType(kind).name, frame.frame_length, frame.flags, index, place
            at += max(FRAME_ALIGNMENT, -(-frame.frame_length // FRAME_ALIGNMENT) * FRAME_ALIGNMENT) if is_stream else len(datagram)
            index += 1


def by_scapy(path: Path, ports: list[int]) -> Iterator[Seen]:
    for datagram in datagrams(path, ports):
        for index, frame in enumerate(aeron_frames(datagram)):
            is_stream = frame.type in (FrameType.DATA, FrameType.PAD)
            place = (frame.session_id, frame.stream_id, frame.term_id, frame.term_offset) if is_stream else ()
            yield FrameType(frame.type).name, frame.frame_length, int(frame.flags), index, place


def counted(frames: Iterable[Seen]) -> dict[str, int]:
    """Count frames under the names of the index."""
    counts: Counter[str] = Counter()
    places = set()
    for kind, length, flags, index, place in frames:
        if kind == "DATA" and length == 0:
            counts["HB_REVOKED" if flags & 0x10 else "HB_EOS" if flags & 0x20 else "HEARTBEAT"] += 1
        elif kind == "SM":
            counts["SM_S" if flags & 0x80 else "SM_EOS" if flags & 0x40 else "SM"] += 1
        elif kind == "RTTM":
            counts["RTTM_R" if flags & 0x80 else "RTTM"] += 1
        elif kind == "SETUP":
            counts[f"SETUP_flags{flags:02x}" if flags else "SETUP"] += 1
        else:
            counts[kind] += 1
        if kind == "DATA" and length:
            counts["(DATA frames after first in datagram)"] += index > 0
            counts["(DATA repeats)"] += place in places
            places.add(place)
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize("name", sorted(INDEX))
@pytest.mark.parametrize("reader", [by_columns, by_flyweights, by_scapy])
def test_frame_counts_equal_the_index(name: str, reader: Callable[[Path, list[int]], Iterator[Seen]]) -> None:
    assert counted(reader(CAPTURES / name, INDEX[name]["ports"])) == INDEX[name]["frames"]


@pytest.mark.parametrize("name", sorted(INDEX))
def test_detects_every_flow_without_being_told_ports(name: str) -> None:
    assert counted(by_columns(CAPTURES / name, None)) == INDEX[name]["frames"]
    capture = Capture(CAPTURES / name)
    capture.read()
    assert capture.statistics.packets == capture.statistics.datagrams == INDEX[name]["packets"]
    assert not capture.statistics.skipped
    assert not capture.statistics.is_damaged


def test_every_capture_has_a_line_in_the_index() -> None:
    assert {path.name for path in CAPTURES.glob("*.pcap")} == set(INDEX)


@pytest.mark.parametrize("name", sorted(INDEX))
def test_columns_hold_what_the_flyweights_read(name: str) -> None:
    """Each field of each frame, but payloads and resolution entries, which have tests of their own."""
    rows = iter(Capture(CAPTURES / name, ports=INDEX[name]["ports"]).read().to_pylist())
    for datagram in datagrams(CAPTURES / name, INDEX[name]["ports"]):
        at = 0
        while at < len(datagram):
            row = next(rows)
            kind = int.from_bytes(datagram[at + 6 : at + 8], "little", signed=True)
            frame: Any = FRAME_DECODERS[kind](datagram, at, len(datagram) - at)
            expected = {member: getattr(frame, member) for member in frame.MEMBERS if member not in ("type", "payload", "entries")}
            assert {member: row[member] for member in expected} == expected
            is_stream = kind in (FrameType.DATA, FrameType.PAD)
            at += max(FRAME_ALIGNMENT, -(-frame.frame_length // FRAME_ALIGNMENT) * FRAME_ALIGNMENT) if is_stream else len(datagram)
    assert next(rows, None) is None


def test_payload_is_the_messages_bytes() -> None:
    table = Capture(CAPTURES / "unicast_batched.pcap", payload=True).read()
    payloads = [row["payload"] for row in table.to_pylist() if row["type"] == "DATA"]
    frames = [
        frame
        for datagram in datagrams(CAPTURES / "unicast_batched.pcap", [40102])
        for frame in aeron_frames(datagram)
        if frame.type == FrameType.DATA
    ]
    assert [len(payload) for payload in payloads] == [max(0, frame.frame_length - 32) for frame in frames]
    assert b"".join(payloads) == b"".join(bytes(frame)[32 : 32 + len(payload)] for frame, payload in zip(frames, payloads, strict=True))


def test_resolution_entries_and_error_text_are_columns() -> None:
    rows = Capture(CAPTURES / "name_resolution.pcap").read().to_pylist()
    entries = {entry["name"] for row in rows if row["type"] == "RES" for entry in row["entries"]}
    assert entries == {"node-A", "node-B"}
    texts = {row["error_text"] for row in Capture(CAPTURES / "image_rejection.pcap").read().to_pylist() if row["type"] == "ERR"}
    assert texts == {"golden rejection reason"}
    tags = {row["group_tag"] for row in Capture(CAPTURES / "mdc_dynamic_fc_tagged.pcap").read().to_pylist() if row["type"] == "SM"}
    assert tags == {101}
