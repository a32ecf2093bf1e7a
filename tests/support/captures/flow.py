"""A capture of any length, written chunk by chunk: streams whose losses are asked for and repaired, and what their rows add up to.

The memory that writing takes does not depend on the length.  One stream carries most of the traffic.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from aerowire.codecs.dtypes import transport as dtypes
from aerowire.codecs.flyweights.transport import DataFlags, FrameType, SetupEncoder
from tests.support.captures.layouts import Link

Rows = npt.NDArray[np.void]
Integers = npt.NDArray[np.int64]
START_NS = 1_700_000_000 * 1_000_000_000
GAP_NS = 1_000  # between packets
TERM_LENGTH = 64 << 20
FRAME_LENGTH = 256  # of each DATA frame, alone in its datagram
GROUP_FRAMES = 64  # of DATA in a row, one of them lost and repaired; a whole number of them makes a term
GROUP_BYTES = GROUP_FRAMES * FRAME_LENGTH
CHUNK_GROUPS = 1024
HOT_SHARE = 0.6
STREAMS = 8
INITIAL_TERM_ID = 2**31 - 3  # term ids wrap on the way
RECORD = np.dtype([("seconds", "<u4"), ("fraction", "<u4"), ("captured", "<u4"), ("original", "<u4")])
ENHANCED = np.dtype(
    [("kind", "<u4"), ("block", "<u4"), ("interface", "<u4"), ("high", "<u4"), ("low", "<u4"), ("captured", "<u4"), ("original", "<u4")]
)
# Where in a group a kind of datagram stands, and which of the group's frames of DATA it holds.
LOST = 10
ORDER: tuple[tuple[str, FrameType, range | tuple[int, ...]], ...] = (
    ("before", FrameType.DATA, (*range(LOST), *range(LOST + 1, 21))),
    ("nak", FrameType.NAK, (LOST,)),
    ("between", FrameType.DATA, range(21, 25)),
    ("again", FrameType.DATA, (LOST,)),
    ("after", FrameType.DATA, range(25, GROUP_FRAMES)),
    ("status", FrameType.SM, (GROUP_FRAMES,)),
)
GROUP_PACKETS = sum(len(frames) for _, _, frames in ORDER)
KINDS = {FrameType.DATA: dtypes.DATA_HEADER, FrameType.NAK: dtypes.NAK, FrameType.SM: dtypes.STATUS_MESSAGE}


@dataclass
class Flow:
    """A capture and the truth about it: frames of each type, and sums over all DATA frames."""

    path: Path
    ports: list[int]
    groups: int = 0
    packets: int = 0
    length: int = 0
    sums: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("position", "term_offset", "reserved_value", "elapsed_ns"), 0))

    @property
    def frames(self) -> dict[str, int]:
        return {"DATA": GROUP_FRAMES * self.groups, "NAK": self.groups, "SM": self.groups, "SETUP": STREAMS}


def link_of(stream: int) -> Link:
    return Link((f"10.0.0.{stream + 1}", 41000 + stream), ("10.0.1.1", 42000 + stream))


def write_flow(path: Path, length: int, seed: int, *, enhanced: bool = False) -> Flow:
    """Write a capture of at least `length` bytes: classic with nanoseconds, or pcapng when it is `enhanced`."""
    rng = np.random.default_rng(seed)
    flow = Flow(path, [42000 + stream for stream in range(STREAMS)])
    group = _group_dtype(enhanced)
    positions = np.zeros(STREAMS, np.int64)
    body = rng.integers(0, 256, FRAME_LENGTH, dtype=np.uint8).tobytes()
    with path.open("wb") as file:
        _begin(file, flow, enhanced)
        while file.tell() < length:
            count = min(CHUNK_GROUPS, -(-(length - file.tell()) // group.itemsize))
            chosen = rng.choice(STREAMS, count, p=[HOT_SHARE, *[(1 - HOT_SHARE) / (STREAMS - 1)] * (STREAMS - 1)])
            starts = np.empty(count, np.int64)
            for stream in range(STREAMS):
                mine = np.flatnonzero(chosen == stream)
                starts[mine] = positions[stream] + np.arange(mine.size) * GROUP_BYTES
                positions[stream] += mine.size * GROUP_BYTES
            rows: Rows = np.zeros(count, group)
            _fill(flow, rows, chosen, starts, (rng, body))
            file.write(rows.tobytes())
            flow.groups += count
            flow.packets += count * GROUP_PACKETS
        flow.length = file.tell()
    return flow


def _group_dtype(enhanced: bool) -> np.dtype[np.void]:
    return np.dtype([(name, _slot(kind, enhanced), (len(frames),)) for name, kind, frames in ORDER])


def _slot(kind: FrameType, enhanced: bool) -> np.dtype[np.void]:
    """One packet: its record, the headers in front of the frame, the frame, what is behind it."""
    frame = KINDS[kind]
    body = FRAME_LENGTH - frame.itemsize if kind is FrameType.DATA else 0
    fields: list[Any] = [("record", ENHANCED if enhanced else RECORD), ("head", "V42"), ("frame", frame), ("body", f"V{body}")]
    if enhanced:
        fields += [("pad", f"V{-(42 + frame.itemsize + body) % 4}"), ("block", "<u4")]
    return np.dtype([one for one in fields if one[1] != "V0"])


def _fill(flow: Flow, rows: Rows, chosen: Integers, starts: Integers, of: tuple[np.random.Generator, bytes]) -> None:
    rng, body = of
    first = flow.packets + np.arange(rows.size)[:, None] * GROUP_PACKETS
    slot = 0
    for name, kind, frames in ORDER:
        packets = rows[name]
        elapsed = (first + slot + np.arange(len(frames))) * GAP_NS
        slot += len(frames)
        _stamp(packets["record"], START_NS + elapsed, packets.dtype)
        if "block" in (packets.dtype.names or ()):
            packets["block"] = packets.dtype.itemsize
        position = starts[:, None] + np.array(frames) * FRAME_LENGTH
        frame = packets["frame"]
        is_data = kind is FrameType.DATA
        for stream in range(STREAMS):
            mine, link = chosen == stream, link_of(stream)
            if not is_data:
                link = Link(link.destination, link.source)
            payload = FRAME_LENGTH if is_data else frame.dtype.itemsize
            packets["head"][mine] = np.void(link.header(payload))
        frame["frame_length"], frame["type"] = FRAME_LENGTH if is_data else frame.dtype.itemsize, int(kind)
        frame["session_id"], frame["stream_id"] = (-7 * chosen - 1)[:, None], (1001 + chosen)[:, None]
        term_id = (INITIAL_TERM_ID + position // TERM_LENGTH).astype(np.int32)
        if is_data:
            reserved = rng.integers(0, 1 << 36, position.shape)
            frame["flags"], frame["reserved_value"] = int(DataFlags.UNFRAGMENTED), reserved
            packets["body"] = np.void(body[dtypes.DATA_HEADER.itemsize :])
            frame["term_id"], frame["term_offset"] = term_id, position % TERM_LENGTH
            values = {"position": position, "term_offset": position % TERM_LENGTH, "reserved_value": reserved, "elapsed_ns": elapsed}
            for column, one in values.items():
                flow.sums[column] += int(one.sum())
        elif kind is FrameType.NAK:
            frame["term_id"], frame["term_offset"], frame["length"] = term_id, position % TERM_LENGTH, FRAME_LENGTH
        else:
            frame["consumption_term_id"], frame["consumption_term_offset"] = term_id, position % TERM_LENGTH
            frame["receiver_window"], frame["receiver_id"] = 1 << 20, 7


def _stamp(record: Rows, time_ns: Integers, slot: np.dtype[np.void]) -> None:
    names = slot.names or ()
    captured = sum(slot[name].itemsize for name in ("head", "frame", "body") if name in names)
    record["captured"] = record["original"] = captured
    if "kind" in (record.dtype.names or ()):
        record["kind"], record["block"] = 6, slot.itemsize
        record["high"], record["low"] = time_ns >> 32, time_ns & 0xFFFF_FFFF
    else:
        record["seconds"], record["fraction"] = time_ns // 1_000_000_000, time_ns % 1_000_000_000


def _begin(file: BinaryIO, flow: Flow, enhanced: bool) -> None:
    """Write what stands in front of the first group, a SETUP of each stream."""
    if enhanced:
        file.write(struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28))
        resolution = struct.pack("<HHB3xI", 9, 1, 9, 0)  # nanoseconds
        file.write(struct.pack("<IIHHI", 1, 20 + len(resolution), 1, 0, 0) + resolution + struct.pack("<I", 20 + len(resolution)))
    else:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1))
    for stream in range(STREAMS):
        key = {"session_id": -7 * stream - 1, "stream_id": 1001 + stream}
        terms = {"initial_term_id": INITIAL_TERM_ID, "active_term_id": INITIAL_TERM_ID, "term_length": TERM_LENGTH, "mtu": 1408}
        frame = bytes(SetupEncoder.encode(**key, **terms))
        packet = link_of(stream).header(len(frame)) + frame
        time_ns, captured = START_NS + flow.packets * GAP_NS, len(packet)
        if enhanced:
            packet += bytes(-captured % 4)
            head = struct.pack("<IIIIIII", 6, 32 + len(packet), 0, time_ns >> 32, time_ns & 0xFFFF_FFFF, captured, captured)
            file.write(head + packet + struct.pack("<I", 32 + len(packet)))
        else:
            file.write(struct.pack("<IIII", time_ns // 1_000_000_000, time_ns % 1_000_000_000, captured, captured) + packet)
        flow.packets += 1
