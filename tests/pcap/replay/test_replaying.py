"""What is replayed of a capture: each message once, whole, in the stream's order, when a subscriber had it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataFlags
from aerowire.pcap import CaptureError
from aerowire.pcap.replay.replaying import (
    FRAME_COLUMNS,
    Counts,
    Frame,
    Key,
    Message,
    Reassembler,
    Recorded,
    RecordedStream,
    choose,
    find_streams,
    messages_of,
)

TERM = 65536
MTU_PAYLOAD = 64
KEY = Key(7, 9)
WHOLE = DataFlags.BEGIN | DataFlags.END


def frame(
    position: int, payload: bytes, ts_ns: int, *, flags: int = WHOLE, kind: str = "DATA", cut: int = 0, key: Key = KEY
) -> dict[str, Any]:
    row = {"type": kind, "flags": flags, "session_id": key.session_id, "stream_id": key.stream_id, "reserved_value": 5, "ts_ns": ts_ns}
    term = {"term_id": 100 + position // TERM, "term_offset": position % TERM, "frame_length": 32 + len(payload)}
    return row | term | {"payload": payload[: len(payload) - cut] if kind == "DATA" else None}


def aligned(length: int) -> int:
    return length + FRAME_ALIGNMENT - 1 & -FRAME_ALIGNMENT


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in FRAME_COLUMNS}


def recorded_stream(rows: Sequence[dict[str, Any]], key: Key = KEY) -> RecordedStream:
    offsets: dict[int, int] = {}
    for row in rows:
        offsets[row["term_id"]] = min(offsets.get(row["term_id"], TERM), row["term_offset"])
    return RecordedStream(key, rows[0]["term_id"], len(rows), 0, TERM, offsets)


def replayed(rows: Sequence[dict[str, Any]]) -> tuple[list[Message], Counts]:
    counts = Counts()
    return list(messages_of([columns(rows)], [recorded_stream(rows)], counts)), counts


def test_puts_fragments_together_with_the_last_ones_time_and_the_first_ones_reserved_value() -> None:
    rows = [
        frame(0, b"a" * 32, 10, flags=DataFlags.BEGIN) | {"reserved_value": 1},
        frame(64, b"b" * 32, 20, flags=0) | {"reserved_value": 2},
        frame(128, b"c" * 5, 30, flags=DataFlags.END) | {"reserved_value": 3},
        frame(192, b"", 40),
    ]
    found, counts = replayed(rows)
    assert found == [Message(30, b"a" * 32 + b"b" * 32 + b"c" * 5, 1), Message(40, b"", 5)]
    assert counts == Counts(frames=4, messages=2, bytes=69)


def test_messages_behind_a_hole_wait_for_the_retransmission() -> None:
    rows = [frame(0, b"1", 10), frame(128, b"3", 20), frame(64, b"2", 30), frame(192, b"4", 40)]
    found, counts = replayed(rows)
    assert [message.payload for message in found] == [b"1", b"2", b"3", b"4"]
    assert [message.ts_ns for message in found] == [10, 30, 20, 40]
    assert (counts.lost_bytes, counts.repeated_frames) == (0, 0)


def test_the_streams_first_frame_may_come_late() -> None:
    found, _ = replayed([frame(64, b"2", 10), frame(0, b"1", 20)])
    assert [message.payload for message in found] == [b"1", b"2"]


def test_what_comes_twice_is_published_once() -> None:
    found, counts = replayed([frame(0, b"1", 10), frame(0, b"1", 11), frame(128, b"3", 12), frame(128, b"3", 13), frame(64, b"2", 14)])
    assert [message.payload for message in found] == [b"1", b"2", b"3"]
    assert counts.repeated_frames == 2


def test_a_message_with_a_lost_part_is_counted_and_left_out() -> None:
    rows = [
        frame(0, b"a" * 32, 1, flags=DataFlags.BEGIN),
        frame(128, b"c" * 32, 3, flags=DataFlags.END),
        frame(192, b"next", 4),
        frame(256, b"z" * 32, 5, flags=DataFlags.BEGIN),
    ]
    found, counts = replayed(rows)
    assert [message.payload for message in found] == [b"next"]
    assert (counts.incomplete_messages, counts.truncated_messages, counts.lost_bytes) == (2, 0, 64)


def test_a_capture_that_begins_in_a_message_counts_it_once() -> None:
    rows = [frame(64, b"b" * 32, 1, flags=0), frame(128, b"c" * 32, 2, flags=DataFlags.END), frame(192, b"next", 3)]
    found, counts = replayed(rows)
    assert [message.payload for message in found] == [b"next"]
    assert counts.incomplete_messages == 1


def test_a_message_captured_in_part_is_counted_and_left_out_unless_it_comes_again_whole() -> None:
    found, counts = replayed([frame(0, b"x" * 32, 1, cut=1), frame(64, b"y", 2)])
    assert [message.payload for message in found] == [b"y"]
    assert (counts.truncated_messages, counts.skipped) == (1, 1)
    late = [frame(0, b"w", 1), frame(128, b"x" * 32, 2, cut=1), frame(128, b"x" * 32, 3), frame(64, b"y", 4)]
    found, counts = replayed(late)
    assert [message.payload for message in found] == [b"w", b"y", b"x" * 32]
    assert counts.truncated_messages == 0


def test_goes_on_over_the_end_of_a_term_and_the_wrap_of_its_id() -> None:
    rows = [frame(TERM - 128, b"1", 1), frame(TERM - 64, b"\0" * 32, 2, kind="PAD"), frame(TERM, b"2", 3)]
    for row in rows:
        row["term_id"] = (row["term_id"] - 100 + (1 << 31) - 1 + (1 << 31)) % (1 << 32) - (1 << 31)
    assert rows[0]["term_id"] > 0 > rows[2]["term_id"]
    found, counts = replayed(rows)
    assert [message.payload for message in found] == [b"1", b"2"]
    assert counts.lost_bytes == 0


def test_frames_that_overlap_are_taken_once_and_nothing_comes_back() -> None:
    rows = [frame(0, b"1", 10), frame(192, b"x", 20), frame(128, b"y" * 100, 30), frame(320, b"4", 40)]
    found, counts = replayed(rows)
    assert [message.payload for message in found] == [b"1", b"y" * 100, b"4"]
    assert (counts.lost_bytes, counts.repeated_frames) == (64 + 32, 1)


def test_many_holes_cost_no_more_each_than_few() -> None:
    count = 100_000
    stream = Reassembler(window=128 * count, counts=Counts(), next=0)
    for number in range(count):
        assert stream.take(Frame(64 * number + 64, 64 * number + 96, WHOLE, False, False, b"x", 0, number)) == []
    assert len(stream.finish()) == count
    assert (stream.counts.lost_bytes, stream.starts, stream.held) == (64 + 32 * (count - 1), [], {})


def test_holds_no_more_than_half_a_term_behind_a_hole() -> None:
    rows = [frame(0, b"1", 1)] + [frame(position, b"x" * 32, position) for position in range(128, TERM, 64)]
    counts = Counts()
    given: list[int] = []

    def batches() -> Any:
        for row in rows:
            given.append(row["term_offset"])
            yield columns([row])

    source = messages_of(batches(), [recorded_stream(rows)], counts)
    assert next(source).payload == b"1"
    assert next(source).ts_ns == 128
    assert given[-1] == 64 + TERM // 2  # the hole begins at 64, and this frame ends beyond half a term from there
    assert counts.lost_bytes == 64


@pytest.mark.parametrize("seed", range(30))
def test_equals_a_simple_reassembly_of_what_a_lossy_network_carried(seed: int) -> None:
    """The dumb twin sorts all that ever came by position and takes whole runs."""
    rng = random.Random(seed)
    sent: list[dict[str, Any]] = []
    position = 0
    for number in range(200):
        fragments = rng.randint(1, 4)
        for index in range(fragments):
            payload = rng.randbytes(rng.randint(0, MTU_PAYLOAD)) if index == fragments - 1 else rng.randbytes(MTU_PAYLOAD)
            flags = (DataFlags.BEGIN if index == 0 else 0) | (DataFlags.END if index == fragments - 1 else 0)
            sent.append(frame(position, payload, number, flags=flags))
            position += aligned(32 + len(payload))
    came = [row for row in sent if rng.random() > 0.05]
    for row in rng.sample(came, 40):
        came.insert(min(len(came), came.index(row) + rng.randint(1, 30)), row)
    for row in rng.sample(came, 20):
        at = came.index(row)
        came.insert(min(len(came), at + rng.randint(1, 30)), came.pop(at))
    by_position = {row["term_offset"]: row for row in came}
    expected, parts, reached = [], list[dict[str, Any]](), -1
    for start in sorted(by_position):
        row = by_position[start]
        if row["flags"] & DataFlags.BEGIN:
            parts = [row]
        elif parts and start == reached:
            parts.append(row)
        else:
            parts = []
        reached = start + aligned(row["frame_length"])
        if parts and row["flags"] & DataFlags.END:
            expected.append(b"".join(part["payload"] for part in parts))
            parts = []
    found, counts = replayed(came)
    assert [message.payload for message in found] == expected, f"seed {seed}"
    assert counts.repeated_frames == len(came) - len(by_position), f"seed {seed}"


def test_asks_which_of_several_streams_is_meant() -> None:
    streams = [RecordedStream(Key(1, 10), 0, 3, 300), RecordedStream(Key(2, 10), 0, 4, 400), RecordedStream(Key(3, 11), 0, 5, 500)]
    with pytest.raises(CaptureError, match=r"x.pcap: 3 streams, expected one; choose with --session.*session 2 stream 10 \(4 frames, 400"):
        choose(streams, session_id=None, stream_id=None, every=False, where="x.pcap")
    with pytest.raises(CaptureError, match="2 streams"):
        choose(streams, session_id=None, stream_id=10, every=False, where="x.pcap")
    assert choose(streams, session_id=None, stream_id=11, every=False, where="x.pcap") == streams[2:]
    assert choose(streams, session_id=2, stream_id=None, every=False, where="x.pcap") == streams[1:2]
    assert choose(streams, session_id=None, stream_id=10, every=True, where="x.pcap") == streams[:2]
    with pytest.raises(CaptureError, match=r"no data of such a stream; the capture holds session 1 stream 10"):
        choose(streams, session_id=4, stream_id=None, every=False, where="x.pcap")
    with pytest.raises(CaptureError, match="no data at all"):
        choose([], session_id=None, stream_id=None, every=True, where="x.pcap")


def test_reads_the_messages_of_a_capture_file(build: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "three.pcap"
    frames = [
        build.data_frame(0, b"first"),
        build.data_frame(64, b"second"),
        build.data_frame(64, b"second"),
        build.data_frame(128, b"third"),
    ]
    path.write_bytes(build.classic([build.ethernet(build.ip4(data, build.SENDER, build.RECEIVER)) for data in frames]))
    ports = frozenset([build.RECEIVER[1]])
    streams = find_streams([path], ports)
    assert [(item.frames, item.start, item.term_length) for item in streams] == [(4, 0, TERM)]
    recorded = Recorded([str(path)], streams, ports)
    assert [(message.ts_ns - 1_700_000_000 * 10**9, message.payload) for message in recorded] == [
        (0, b"first"),
        (1_000_000_001, b"second"),
        (3_000_000_003, b"third"),
    ]
    assert recorded.counts == Counts(frames=4, messages=3, bytes=16, repeated_frames=1)


def test_packets_that_snaplen_cut_are_counted(build: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    frames = [build.data_frame(0, b"short"), build.data_frame(64, b"l" * 200)]
    packets = [build.ethernet(build.ip4(data, build.SENDER, build.RECEIVER)) for data in frames]
    path.write_bytes(build.classic(packets, snap=120))
    ports = frozenset([build.RECEIVER[1]])
    recorded = Recorded([str(path)], find_streams([path], ports), ports)
    assert [message.payload for message in recorded] == [b"short"]
    assert recorded.counts.truncated_messages == 1
