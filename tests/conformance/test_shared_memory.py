"""The harness's views of shared memory, on bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.cnc import (
    BROADCAST_PADDING_TYPE,
    CONSUMER_HEARTBEAT_CLOSED,
    RING_PADDING_TYPE,
    BroadcastTrailerDecoder,
    CncHeaderDecoder,
    RingTrailerDecoder,
)
from aerowire.codecs.flyweights.logbuffer import LOG_META_DATA_LENGTH, PARTITION_COUNT, LogMetadataEncoder
from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder, FrameType
from aerowire.conformance.harness.broadcast import BroadcastLappedError, BroadcastReader
from aerowire.conformance.harness.cnc import CNC_FILE, CncFile, DriverUnreachableError
from aerowire.conformance.harness.log import ExclusiveAppender, ImagePoller, LogFile, wrap_i32
from aerowire.conformance.harness.memory import Mapping
from aerowire.conformance.harness.ring import RingFullError, RingWriter

CAPACITY = 256
TERM_LENGTH = 65_536


def mapping_of(path: Path, length: int) -> Mapping:
    path.write_bytes(bytes(length))
    return Mapping(path)


@pytest.fixture
def ring_memory(tmp_path: Path) -> Mapping:
    return mapping_of(tmp_path / "ring", CAPACITY + RingTrailerDecoder.ENCODED_LENGTH)


@pytest.fixture
def broadcast_memory(tmp_path: Path) -> Mapping:
    return mapping_of(tmp_path / "broadcast", CAPACITY + BroadcastTrailerDecoder.ENCODED_LENGTH)


def test_words_are_little_endian_and_read_back(tmp_path: Path) -> None:
    memory = mapping_of(tmp_path / "words", 64)
    memory.put_i32(4, -2)
    memory.put_i64(8, 2**40)
    assert memory.bytes_at(4, 4) == b"\xfe\xff\xff\xff"
    assert memory.i64(8) == 2**40


def test_fetch_add_returns_the_old_value_and_compare_and_set_keeps_others(tmp_path: Path) -> None:
    memory = mapping_of(tmp_path / "words", 64)
    assert memory.fetch_add_i64(16, 3) == 0
    assert memory.fetch_add_i64(16, 4) == 3
    assert not memory.compare_and_set_i64(16, 1, 99)
    assert memory.compare_and_set_i64(16, 7, -1)
    assert memory.i64(16) == -1


def test_ring_record_has_header_body_and_alignment(ring_memory: Mapping) -> None:
    ring = RingWriter(ring_memory, 0, ring_memory.length)
    ring.write(0x42, b"abc")
    assert ring_memory.bytes_at(0, 16) == struct.pack("<ii", 11, 0x42) + b"abc" + bytes(5)
    assert ring_memory.i64(CAPACITY + RingTrailerDecoder.TAIL_POSITION_OFFSET) == 16


def test_ring_pads_its_end_when_a_record_does_not_fit(ring_memory: Mapping) -> None:
    ring = RingWriter(ring_memory, 0, ring_memory.length)
    # Everything up to 16 bytes before the end has been written and consumed.
    for offset in (RingTrailerDecoder.TAIL_POSITION_OFFSET, RingTrailerDecoder.HEAD_POSITION_OFFSET):
        ring_memory.put_i64(CAPACITY + offset, CAPACITY - 16)
    ring.write(7, bytes(16))
    assert ring_memory.i32(CAPACITY - 16) == 16
    assert ring_memory.i32(CAPACITY - 12) == RING_PADDING_TYPE
    assert ring_memory.bytes_at(0, 8) == struct.pack("<ii", 24, 7)
    assert ring_memory.i64(CAPACITY + RingTrailerDecoder.TAIL_POSITION_OFFSET) == CAPACITY + 24


def test_ring_refuses_when_full_and_when_too_long(ring_memory: Mapping) -> None:
    ring = RingWriter(ring_memory, 0, ring_memory.length)
    with pytest.raises(ValueError, match="the ring takes 32"):
        ring.write(1, bytes(33))
    for _ in range(CAPACITY // 32):
        ring.write(1, bytes(24))
    with pytest.raises(RingFullError):
        ring.write(1, b"")


def test_ring_of_odd_capacity_is_refused(tmp_path: Path) -> None:
    memory = mapping_of(tmp_path / "odd", 192 + RingTrailerDecoder.ENCODED_LENGTH)
    with pytest.raises(ValueError, match="192 is not a power of two"):
        RingWriter(memory, 0, memory.length)


def transmit(memory: Mapping, tail: int, kind: int, body: bytes) -> int:
    length = 8 + len(body)
    whole = (length + 7) // 8 * 8
    memory.put_i64(CAPACITY + BroadcastTrailerDecoder.TAIL_INTENT_OFFSET, tail + whole)
    memory.put_bytes(tail % CAPACITY, struct.pack("<ii", length, kind) + body)
    memory.put_i64(CAPACITY + BroadcastTrailerDecoder.TAIL_OFFSET, tail + whole)
    return tail + whole


def test_broadcast_reader_sees_what_comes_after_it_and_skips_padding(broadcast_memory: Mapping) -> None:
    tail = transmit(broadcast_memory, 0, 1, b"before")
    reader = BroadcastReader(broadcast_memory, 0, broadcast_memory.length)
    tail = transmit(broadcast_memory, tail, 2, b"one")
    tail = transmit(broadcast_memory, tail, BROADCAST_PADDING_TYPE, bytes(8))
    transmit(broadcast_memory, tail, 3, b"")
    assert list(reader.poll()) == [(2, b"one"), (3, b"")]
    assert list(reader.poll()) == []


def test_broadcast_reader_says_when_it_was_lapped(broadcast_memory: Mapping) -> None:
    reader = BroadcastReader(broadcast_memory, 0, broadcast_memory.length)
    tail = 0
    for _ in range(20):
        tail = transmit(broadcast_memory, tail, 2, bytes(16))
    with pytest.raises(BroadcastLappedError):
        list(reader.poll())


def test_missing_directory_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(DriverUnreachableError, match=r"cnc\.dat: no driver made this file ready"):
        CncFile(tmp_path, timeout_s=0.0)


def test_foreign_version_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / CNC_FILE).write_bytes(struct.pack("<i", 0x7F0000) + bytes(CncHeaderDecoder.ENCODED_LENGTH))
    with pytest.raises(DriverUnreachableError, match="version 0x7f0000, expected 0x200"):
        CncFile(tmp_path, timeout_s=0.0)


def test_closed_driver_is_not_alive(make_small_cnc: Mapping) -> None:
    cnc = CncFile(make_small_cnc.path.parent, timeout_s=0.0)
    assert not cnc.is_alive(1000)
    trailer = cnc.to_driver[0] + cnc.to_driver[1] - RingTrailerDecoder.ENCODED_LENGTH
    make_small_cnc.put_i64(trailer + RingTrailerDecoder.CONSUMER_HEARTBEAT_OFFSET, CONSUMER_HEARTBEAT_CLOSED)
    assert not cnc.is_alive(10**18)
    assert cnc.errors() == []


@pytest.fixture
def log(tmp_path: Path) -> LogFile:
    path = tmp_path / "log"
    initial = 2**31 - 1
    metadata = LogMetadataEncoder.encode(term_length=TERM_LENGTH, initial_term_id=initial, mtu=1408, tail_counters=[initial << 32, 0, 0])
    path.write_bytes(bytes(PARTITION_COUNT * TERM_LENGTH) + metadata)
    assert len(metadata) == LOG_META_DATA_LENGTH
    return LogFile(path)


def test_messages_come_back_across_a_term_wrap(log: LogFile) -> None:
    appender = ExclusiveAppender(log, session_id=5, stream_id=6)
    poller = ImagePoller(log, 0)
    payload = bytes(range(250)) * 4
    for number in range(100):
        appender.append(payload[: number * 9])
        fragments = poller.poll()
        assert [fragment.payload for fragment in fragments] == [payload[: number * 9]]
        assert fragments[0].flags == DataFlags.UNFRAGMENTED
    # The term id wrapped with the first term.
    assert appender.position == poller.position > 0
    header = DataHeaderDecoder(log.mapping.buffer, log.locate(appender.position - 32 * 29))
    assert header.session_id == 5


def test_term_trip_leaves_padding_and_moves_the_tails(log: LogFile) -> None:
    appender = ExclusiveAppender(log, session_id=5, stream_id=6)
    while appender.position < TERM_LENGTH - 1024:
        appender.append(bytes(992))
    left = TERM_LENGTH - appender.position
    pad_at = log.locate(appender.position)
    appender.append(bytes(1200))
    assert left == 1024
    padding = DataHeaderDecoder(log.mapping.buffer, pad_at)
    assert (padding.type, padding.frame_length) == (FrameType.PAD, left)
    assert log.mapping.i32(log.active_term_count_offset) == 1
    next_term = wrap_i32(2**31)
    assert log.mapping.i64(log.tail_offset(1)) == (next_term << 32) | 1248
    assert log.mapping.i64(log.tail_offset(0)) == ((2**31 - 1) << 32) | TERM_LENGTH


def test_long_message_is_fragmented_by_the_mtu(log: LogFile) -> None:
    appender = ExclusiveAppender(log, session_id=5, stream_id=6)
    message = bytes(range(256)) * 16
    appender.append(message)
    fragments = ImagePoller(log, 0).poll()
    assert [fragment.flags for fragment in fragments] == [DataFlags.BEGIN, 0, DataFlags.END]
    assert b"".join(fragment.payload for fragment in fragments) == message
    assert max(len(fragment.payload) for fragment in fragments) == 1408 - 32
