"""`aerowire log`: every byte of a term is accounted for, damaged ones too, and the terms' states are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.client import Aeron
from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderEncoder, FrameType
from aerowire.ipc.counters import CountersManager
from aerowire.logbuffer.exclusive_appender import ExclusiveAppender
from aerowire.logbuffer.log import LogBuffers
from aerowire.tools.log.log_frames import Claim, Damage, Entry, Frame, Remnant, Stream, Zeros, entries_of
from aerowire.tools.log.log_reader import ACTIVE, CLEAN, COMPLETE, OLD, UNUSED, FileTerm, LogReader
from aerowire.tools.main import main

SESSION, STREAM, TERM_ID, TERM = -9, 1001, 5, 65536
EXPECTED = Stream(SESSION, STREAM, TERM_ID)
WHOLE = DataFlags.UNFRAGMENTED


class Memory:
    """A term in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def length(self) -> int:
        return len(self.data)

    def read(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]

    def next_data(self, offset: int) -> int:
        return offset


def frame(offset: int, length: int = 32, *, session_id: int = SESSION, term_id: int = TERM_ID, **fields: int) -> bytes:
    named: dict[str, Any] = {"frame_length": length, "flags": WHOLE, "type": FrameType.DATA, "stream_id": STREAM, "term_offset": offset}
    header = DataHeaderEncoder.encode(session_id=session_id, term_id=term_id, **named | fields)
    return header.ljust(-(-abs(length) // 32) * 32, b"x")[: -(-abs(length) // 32) * 32]


def walked(*pieces: bytes, length: int = 512) -> list[Entry]:
    return list(entries_of(Memory(b"".join(pieces).ljust(length, b"\0")), EXPECTED))


def test_lists_frames_and_what_nobody_has_written() -> None:
    first, second, rest = walked(frame(0, 40), frame(64, 32, flags=WHOLE | DataFlags.EOS, reserved_value=7))
    assert first == Frame(0, 40, WHOLE, FrameType.DATA, SESSION, STREAM, TERM_ID, 0)
    assert isinstance(second, Frame)
    assert (second.flags_text, second.type_text, second.payload_length, second.reserved_value) == ("BES.", "DATA", 0, 7)
    assert rest == Zeros(96, 416)


def test_goes_on_behind_a_gap() -> None:
    gap, found, rest = walked(bytes(128), frame(128, 100))
    assert gap == Zeros(0, 128)
    assert isinstance(found, Frame)
    assert rest == Zeros(256, 256)


def test_tells_a_claim_that_is_not_committed() -> None:
    claim, found, _ = walked(frame(0, -100), frame(128, 32))
    assert claim == Claim(0, 100)
    assert found.offset == 128


def test_what_the_driver_has_cleaned_in_part_is_no_damage() -> None:
    rest = b"?" * 96
    assert walked(bytes(128), rest, frame(224))[:2] == [Zeros(0, 128), Remnant(128, 96)]
    assert isinstance(walked(frame(0), bytes(96), rest, frame(224))[2], Damage)
    behind = list(entries_of(Memory(rest + frame(96).ljust(416, b"\0")), EXPECTED, 32))
    assert behind[0] == Remnant(32, 64)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (frame(0, 31), "a frame of 31 bytes, shorter than its header"),
        (frame(0, 600)[:64], "a frame of 600 bytes, where 512 are left"),
        (frame(0, -600)[:64], "a claim of 600 bytes, where 512 are left"),
        (frame(0, 64, type=FrameType.NAK), "a frame of type 2, which no log holds"),
        (frame(32, 64), "a frame that says it is at 32"),
        (DataHeaderEncoder.encode(frame_length=0, reserved_value=1), "no length, but a header: being written, or cleaned in part"),
    ],
)
def test_damage_ends_where_a_frame_begins(bad: bytes, reason: str) -> None:
    damage, found, _ = walked(bad.ljust(96, b"?"), frame(96, 32))
    assert (damage.offset, found.offset) == (0, 96)
    assert isinstance(damage, Damage)
    assert damage.length == 96
    assert damage.reason == reason


def test_a_frame_of_somebody_else_is_a_problem() -> None:
    other, left, ahead, version = walked(
        frame(0, session_id=4, stream_id=2),
        frame(32, term_id=TERM_ID - 3),
        frame(64, term_id=TERM_ID + 1),
        frame(96, version=1),
        length=128,
    )
    problems = [entry.problems for entry in (other, left, ahead, version) if isinstance(entry, Frame)]
    assert problems == [("session 4", "stream 2"), ("left from term 2",), ("of term 6",), ("version 1",)]


pieces = st.lists(
    st.one_of(
        st.binary(min_size=32, max_size=96),
        st.integers(1, 4).map(lambda count: bytes(32 * count)),
        st.integers(0, 480).map(lambda offset: frame(offset // 32 * 32, 64)),
        st.integers(-700, 700).filter(bool).map(lambda length: frame(0, length)[:32]),
    )
)


@given(pieces)
@settings(max_examples=60, deadline=None)
def test_whatever_a_term_holds_nothing_is_left_out(parts: list[bytes]) -> None:
    data = b"".join(part.ljust(-(-len(part) // 32) * 32, b"\0") for part in parts)[:512].ljust(512, b"\0")
    offset = 0
    for entry in entries_of(Memory(data), EXPECTED):
        assert entry.offset == offset
        length = entry.aligned_length if isinstance(entry, Frame) else -(-entry.length // 32) * 32
        assert length > 0
        offset += length
    assert offset == 512


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    """A log in its fourth term: index 0 is written, 2 complete, 1 to be cleaned."""
    path = tmp_path / "publications" / "7.logbuffer"
    path.parent.mkdir()
    (tmp_path / "cnc.dat").touch()
    with LogBuffers.create(
        path,
        term_length=TERM,
        mtu_length=1408,
        initial_term_id=TERM_ID,
        session_id=SESSION,
        stream_id=STREAM,
        correlation_id=7,
        sparse=True,
    ) as log:
        counters = CountersManager(bytearray(512), bytearray(128))
        counters.allocate("pub-lmt")
        counters.set_value(0, 1 << 40)
        appender = ExclusiveAppender(log, counters, 0, SESSION, STREAM)
        while appender.producer_position < 2 * TERM:
            appender.append(b"message %d" % appender.producer_position)
        log.term_view(0)[:] = bytes(TERM)  # as the driver does before it is written anew
        while appender.producer_position < 3 * TERM + 4096:
            appender.append(b"message %d" % appender.producer_position)
    return path


def test_tells_the_state_of_each_term(log_path: Path) -> None:
    with LogReader(log_path) as reader:
        states = reader.terms()
        assert [(state.state, state.term_id) for state in states] == [(ACTIVE, TERM_ID + 3), (OLD, TERM_ID + 1), (COMPLETE, TERM_ID + 2)]
        assert states[0].position == reader.tail_position
        assert reader.active_index == 0


def test_an_old_term_is_clean_once_nothing_is_left_in_it(log_path: Path) -> None:
    with log_path.open("r+b") as file:
        file.seek(TERM)
        file.write(bytes(TERM))
    with LogReader(log_path) as reader:
        assert [state.state for state in reader.terms()] == [ACTIVE, CLEAN, COMPLETE]


def test_shows_frames_with_their_payload(log_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "7", "--dir", str(log_path.parents[1]), "--term", "active", "--limit", "2", "--hex", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    begin = next(index for index, line in enumerate(lines) if line.startswith("term 0 - active"))
    assert lines[begin + 2].split() == ["0", "46", "DATA", "BE..", "0"]
    assert lines[begin + 3].split() == ["0", "6d", "65", "73", "73", "mess"]
    assert lines[begin + 6] == "... more from 128; --from and --limit show it"
    assert main(["log", str(log_path), "--term", "2", "--from", "0x40", "--limit", "1", "--text", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["terms"][0]["entries"]
    assert (entry["kind"], entry["offset"]) == ("frame", 64)
    assert bytes.fromhex(entry["payload"]) == b"message 131136"


def test_check_finds_what_is_damaged(log_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", str(log_path), "--check", "--term", "active"]) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    with log_path.open("r+b") as file:
        file.seek(128)
        file.write(bytes([3, 0, 0, 0]))
    assert main(["log", str(log_path), "--check"]) == 1
    assert "DAMAGED: a frame of 3 bytes, shorter than its header" in capsys.readouterr().out


def test_hides_what_carries_nothing(log_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", str(log_path), "--hide-empty", "--limit", "100000", "--json"]) == 0
    terms = json.loads(capsys.readouterr().out)["terms"]
    kinds = {(entry["kind"], entry["type"]) for term in terms for entry in term["entries"]}
    assert kinds == {("frame", "DATA")}


def test_holes_are_not_filled_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "holes"
    with LogBuffers.create(
        path, term_length=1 << 26, mtu_length=1408, initial_term_id=0, session_id=1, stream_id=1, correlation_id=1, sparse=True
    ):
        pass
    before = path.stat().st_blocks
    with LogReader(path) as reader:
        assert [state.state for state in reader.terms()] == [ACTIVE, UNUSED, UNUSED]
        for index in range(3):
            term = reader.term(index)
            assert isinstance(term, FileTerm)
            assert list(entries_of(term, reader.stream)) == [Zeros(0, 1 << 26)]
    assert path.stat().st_blocks == before


def test_lists_the_logs_of_a_driver(driver_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Aeron.connect(aeron_dir=driver_dir) as aeron, aeron.add_publication("aeron:ipc", 77) as publication:
        assert main(["log", "--dir", driver_dir, "--json"]) == 0
        logs = json.loads(capsys.readouterr().out)["logs"]
        assert (publication.session_id, 77) in {(log["session_id"], log["stream_id"]) for log in logs}
        assert main(["log", "--dir", driver_dir]) == 0
        assert str(publication.session_id) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["log", "--dir", "/nonexistent"], "no driver directory; at /nonexistent"),
        (["log", "7", "--dir", "/nonexistent"], "there is no such log; at /nonexistent"),
        (["log", "/etc/hostname"], "file is too short; at /etc/hostname"),
        (["log", "/nonexistent"], "no such file; at /nonexistent"),
    ],
)
def test_no_log_is_an_error(arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    output, errors = capsys.readouterr()
    assert (output, errors.count("\n")) == ("", 1)
    assert part in errors


@pytest.mark.parametrize("offset", ["5", "-32", "x"])
def test_an_offset_between_frames_is_a_usage_error(offset: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["log", "7", "--from", offset])
    assert "argument --from: expected" in capsys.readouterr().err
