"""Both appenders against a dumb writer of frames, and their outcomes one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights.transport import DataHeaderEncoder
from aerowire.ipc.counters import CountersManager
from aerowire.logbuffer.concurrent_appender import ConcurrentAppender
from aerowire.logbuffer.descriptor import (
    ADMIN_ACTION,
    BACK_PRESSURED,
    BLOCK_INVALID,
    MAX_POSITION_EXCEEDED,
    MESSAGE_TOO_LONG,
    NOT_CONNECTED,
    framed_length,
)
from aerowire.logbuffer.exclusive_appender import ExclusiveAppender
from aerowire.logbuffer.log import LogBuffers
from aerowire.logbuffer.scan import frames

TERM = 65_536
MTU = 1408
PAYLOAD = MTU - 32
SESSION, STREAM = -77, 1001
BOTH = pytest.mark.parametrize("kind", [ConcurrentAppender, ExclusiveAppender])
UNLIMITED = 1 << 60
Appender = ConcurrentAppender | ExclusiveAppender


class Bench:
    """A log, a limit and an appender."""

    def __init__(self, directory: Path, kind: type[Appender], **where: Any) -> None:
        self.log = LogBuffers.create(
            directory / f"{kind.__name__}.logbuffer",
            term_length=TERM,
            mtu_length=MTU,
            initial_term_id=where.pop("initial_term_id", 5),
            session_id=SESSION,
            stream_id=STREAM,
            correlation_id=1,
            sparse=True,
            **where,
        )
        self.counters = CountersManager(bytearray(512), bytearray(128))
        self.counters.allocate("pub-lmt")
        self.limit(UNLIMITED)
        self.appender = kind(self.log, self.counters, 0, SESSION, STREAM)

    def limit(self, position: int) -> None:
        self.counters.set_value(0, position)

    def terms(self) -> bytes:
        return b"".join(bytes(self.log.term_view(index)) for index in range(3))


class Model:
    """What an appender should do, in bytes and plain integers; terms are never cleaned here."""

    def __init__(self, initial_term_id: int, term_count: int = 0) -> None:
        self.initial, self.count, self.offset = initial_term_id, term_count, 0
        self.memory = bytearray(3 * TERM)

    @property
    def position(self) -> int:
        return self.count * TERM + self.offset

    def frame(self, flags: int, payload: bytes, frame_type: int = 1, length: int | None = None) -> None:
        term_id = ((self.initial + self.count + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
        at = self.count % 3 * TERM + self.offset
        size = 32 + len(payload) if length is None else length
        reserved = self.memory[at + 24 : at + 32]  # appenders leave it as the cleaned term has it
        header = DataHeaderEncoder.encode(
            frame_length=size, flags=flags, type=frame_type, term_offset=self.offset, session_id=SESSION, stream_id=STREAM, term_id=term_id
        )[:24]
        self.memory[at : at + 32 + len(payload)] = header + reserved + payload
        self.offset += -(-size // 32) * 32

    def offer(self, message: bytes) -> int:
        if self.offset + framed_length(len(message), PAYLOAD) > TERM:
            if self.offset < TERM:
                self.frame(0xC0, b"", 0, TERM - self.offset)
            self.count, self.offset = self.count + 1, 0
            return ADMIN_ACTION
        pieces = [message[at : at + PAYLOAD] for at in range(0, len(message), PAYLOAD)] or [b""]
        for number, piece in enumerate(pieces):
            self.frame((0x80 if number == 0 else 0) | (0x40 if number == len(pieces) - 1 else 0), piece)
        return self.position


@BOTH
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["one", "parts", "claim", "many"]), st.integers(0, 8192)), min_size=1, max_size=120),
    st.sampled_from([5, -3, (1 << 31) - 2]),
    st.data(),
)
def test_agrees_with_the_model(
    tmp_path_factory: pytest.TempPathFactory, kind: type[Appender], steps: list[tuple[str, int]], initial: int, data: st.DataObject
) -> None:
    bench = Bench(tmp_path_factory.mktemp("log"), kind, initial_term_id=initial)
    model = Model(initial)
    for fill, (how, length) in enumerate(steps, 1):
        message = bytes((fill + index) & 0xFF for index in range(length % (PAYLOAD if how == "claim" else 8193)))
        if how == "one":
            assert bench.appender.append(message) == model.offer(message)
        elif how == "parts":
            cuts = sorted(data.draw(st.lists(st.integers(0, len(message)), max_size=4)))
            parts = [message[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(message)], strict=True)]
            assert bench.appender.append_parts(parts) == model.offer(message)
        elif how == "claim":
            result, claim = bench.appender.claim(len(message))
            assert result == model.offer(message)
            if claim is not None:
                claim.payload[:] = message
                claim.commit()
        else:
            batch = [message[:size] for size in (length, 0, length // 7, length // 3)]
            assert bench.appender.append_many(batch) == (offer_all(model, batch), len(batch))
        assert bench.appender.producer_position == model.position
    assert bench.terms() == bytes(model.memory)
    assert bench.log.term_count == model.count
    assert bench.log.tail_position == model.position


def offer_all(model: Model, batch: list[bytes]) -> int:
    result = 0
    for message in batch:
        while (result := model.offer(message)) == ADMIN_ACTION:
            pass
    return result


@BOTH
def test_limit_decides_between_connected_and_not(tmp_path: Path, kind: type[Appender]) -> None:
    bench = Bench(tmp_path, kind)
    bench.limit(0)
    assert bench.appender.append(b"x") == NOT_CONNECTED
    bench.log.connected = True
    assert bench.appender.append(b"x") == BACK_PRESSURED
    assert bench.appender.claim(1) == (BACK_PRESSURED, None)
    assert bench.appender.append_many([b"x"]) == (BACK_PRESSURED, 0)
    bench.limit(1)
    assert bench.appender.window == 1
    assert bench.appender.append(b"x") == 64  # the limit is passed by at most one message
    assert bench.appender.append(b"x") == BACK_PRESSURED
    assert bench.appender.window == -63
    assert bench.terms()[64:] == bytes(3 * TERM - 64)


@BOTH
def test_batch_stops_at_the_limit_and_says_how_far_it_came(tmp_path: Path, kind: type[Appender]) -> None:
    bench = Bench(tmp_path, kind)
    bench.log.connected = True
    bench.limit(130)
    assert bench.appender.append_many([b"x"] * 10) == (BACK_PRESSURED, 3)
    assert bench.appender.producer_position == 192
    assert bench.appender.append_many([]) == (192, 0)


@BOTH
def test_long_messages_are_refused_whatever_the_limit(tmp_path: Path, kind: type[Appender]) -> None:
    bench = Bench(tmp_path, kind)
    bench.limit(0)
    assert bench.appender.longest_message == TERM // 8
    assert bench.appender.longest_payload == PAYLOAD
    assert bench.appender.append(bytes(TERM // 8 + 1)) == MESSAGE_TOO_LONG
    assert bench.appender.claim(PAYLOAD + 1) == (MESSAGE_TOO_LONG, None)
    bench.limit(UNLIMITED)
    assert bench.appender.append(bytes(TERM // 8)) > 0
    assert bench.appender.append_many([b"a", bytes(TERM), b"b"])[1] == 1


@BOTH
def test_a_message_that_no_term_can_hold_does_not_rotate_for_ever(tmp_path: Path, kind: type[Appender]) -> None:
    # A log file's metadata can say an MTU with which the fragments of a message of full length are longer than a term.
    bench = Bench(tmp_path, kind)
    appender = kind(bench.log, bench.counters, 0, SESSION, STREAM, max_payload_length=1)
    assert appender.append_many([b"a", bytes(TERM // 8), b"b"]) == (ADMIN_ACTION, 1)
    assert appender.append(b"c") > 0


@BOTH
def test_last_term_of_a_stream_ends_it(tmp_path: Path, kind: type[Appender]) -> None:
    last = (1 << 31) - 1
    bench = Bench(tmp_path, kind, initial_term_id=0, term_id=last, term_offset=TERM - 64)
    assert bench.appender.producer_position == (last + 1) * TERM - 64
    assert bench.appender.append(bytes(20)) == (last + 1) * TERM
    for _ in range(3):
        assert bench.appender.append(b"x") == MAX_POSITION_EXCEEDED
        assert bench.appender.append_many([b"x"])[0] == MAX_POSITION_EXCEEDED
    assert bench.log.term_count == last
    bench.limit(0)
    assert bench.appender.append(b"x") == MAX_POSITION_EXCEEDED


@BOTH
def test_stream_may_begin_in_the_middle_of_a_later_term(tmp_path: Path, kind: type[Appender]) -> None:
    bench = Bench(tmp_path, kind, initial_term_id=(1 << 31) - 1, term_id=-(1 << 31) + 1, term_offset=96)
    assert bench.log.term_count == 2
    assert bench.log.tails[2] == (-(1 << 31) + 1, 96)
    assert bench.appender.producer_position == 2 * TERM + 96
    assert bench.appender.append(b"x") == 2 * TERM + 160
    while (result := bench.appender.append(bytes(8000))) != ADMIN_ACTION:
        assert result > 0
    assert bench.appender.append(b"first of term 3") == 3 * TERM + 64


@BOTH
def test_aborted_claim_becomes_padding(tmp_path: Path, kind: type[Appender]) -> None:
    bench = Bench(tmp_path, kind)
    _, claim = bench.appender.claim(100)
    bench.appender.append(b"behind")
    assert claim is not None
    assert frames(bench.log.term_view(0), 0, TERM) == []
    claim.abort()
    assert frames(bench.log.term_view(0), 0, TERM) == [(0, 132, True), (160, 38, False)]


@BOTH
def test_reserved_value_is_asked_for_every_frame(tmp_path: Path, kind: type[Appender]) -> None:
    bench = Bench(tmp_path, kind)
    seen: list[bytes] = []

    def supply(frame: bytes) -> int:
        seen.append(frame)
        return len(seen) * 1_000_003

    message = bytes(range(256)) * 8
    bench.appender.append(message, reserved=supply)
    bench.appender.append_parts([message[:5], message[5:]], reserved=supply)
    assert [len(frame) for frame in seen] == [MTU, 2048 - PAYLOAD + 32] * 2
    assert seen[0][32:] + seen[1][32:] == message
    term = bytes(bench.log.term_view(0))
    offsets = [offset for offset, _, _ in frames(term, 0, TERM)]
    assert [int.from_bytes(term[at + 24 : at + 32], "little") for at in offsets] == [n * 1_000_003 for n in range(1, 5)]


def test_exclusive_padding_and_blocks(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ExclusiveAppender)
    appender = bench.appender
    assert isinstance(appender, ExclusiveAppender)
    assert appender.pad(100) == 160
    block = DataHeaderEncoder.encode(frame_length=40, term_offset=160, session_id=SESSION, stream_id=STREAM, term_id=5)[:32] + bytes(32)
    block += DataHeaderEncoder.encode(frame_length=33, term_offset=224, session_id=SESSION, stream_id=STREAM, term_id=5)[:32] + bytes(32)
    assert appender.append_block(block) == 288
    assert frames(bench.log.term_view(0), 0, TERM) == [(0, 132, True), (160, 40, False), (224, 33, False)]
    for bad in (block, block[:33], b"", bytes(64)):
        assert appender.append_block(bad) == BLOCK_INVALID
    assert appender.producer_position == 288
    assert appender.pad(TERM) == MESSAGE_TOO_LONG
    while appender.append(bytes(8000)) != ADMIN_ACTION:
        pass
    other = DataHeaderEncoder.encode(frame_length=64, term_offset=0, session_id=SESSION, stream_id=STREAM, term_id=6)[:32] + bytes(32)
    assert appender.append_block(other) == TERM + 64


def test_exclusive_appender_goes_on_where_the_log_stands(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ExclusiveAppender)
    for _ in range(20):
        bench.appender.append(bytes(8000))
    again = ExclusiveAppender(bench.log, bench.counters, 0, SESSION, STREAM)
    assert again.producer_position == bench.appender.producer_position
    assert again.append(b"x") == bench.appender.producer_position + 64


@BOTH
def test_appender_checks_what_it_is_given(tmp_path: Path, kind: type[Appender]) -> None:
    bench = Bench(tmp_path, kind)
    with pytest.raises(ConfigurationError, match="payload"):
        kind(bench.log, bench.counters, 0, SESSION, STREAM, max_payload_length=0)
    with pytest.raises(ValueError, match="counter id: expected 0 to"):
        kind(bench.log, bench.counters, 5, SESSION, STREAM)
    bench.log.close()
    with pytest.raises(ConfigurationError, match="closed"):
        kind(bench.log, bench.counters, 0, SESSION, STREAM)
