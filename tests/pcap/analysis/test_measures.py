"""What is measured of a stream: literal frames in at literal times, measures out."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import (
    DataFlags,
    DataHeaderEncoder,
    RttmEncoder,
    RttmFlags,
    SetupEncoder,
    SmFlags,
    StatusMessageEncoder,
)
from aerowire.pcap.analysis.summary import summarise

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
TERM = 65536
MS = 1_000_000
SETUP = SetupEncoder.encode(session_id=7, stream_id=1001, initial_term_id=3, active_term_id=3, term_length=TERM, mtu=1408)


def status(position: int, window: int, *, receiver: int = 5, flags: int = 0) -> bytes:
    term, offset = divmod(position, TERM)
    return StatusMessageEncoder.encode(
        flags=flags,
        session_id=7,
        stream_id=1001,
        consumption_term_id=3 + term,
        consumption_term_offset=offset,
        receiver_window=window,
        receiver_id=receiver,
    )


def rttm(echo: int, *, asks: bool, receiver: int = 5) -> bytes:
    return RttmEncoder.encode(
        flags=RttmFlags.REPLY if asks else 0, session_id=7, stream_id=1001, echo_timestamp_ns=echo, receiver_id=receiver
    )


def heartbeat(offset: int) -> bytes:
    return DataHeaderEncoder.encode(
        frame_length=0, flags=DataFlags.UNFRAGMENTED, session_id=7, stream_id=1001, term_id=3, term_offset=offset
    )


@pytest.fixture
def measured(build: SimpleNamespace, tmp_path: Path) -> Any:
    """Make a capture of (milliseconds, datagram), those of the receiver by its own frames, and return the stream's report."""

    def make(*datagrams: tuple[float, bytes]) -> dict[str, Any]:
        out = bytearray(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for ms, data in datagrams:
            from_receiver = data[6] == 3 or (data[6] == 6 and data[5] & RttmFlags.REPLY)
            ends = (build.RECEIVER, build.SENDER) if from_receiver else (build.SENDER, build.RECEIVER)
            packet = build.ethernet(build.ip4(data, *ends))
            seconds, ns = divmod(int(ms * MS), 1_000_000_000)
            out += struct.pack("<IIII", 1_700_000_000 + seconds, ns, len(packet), len(packet)) + packet
        path = tmp_path / "stream.pcap"
        path.write_bytes(out)
        (report,) = summarise(path)["streams"]
        return dict(report)

    return make


@pytest.fixture
def data(build: SimpleNamespace) -> Any:
    """A frame that takes 1,024 bytes of its term."""
    return lambda offset, **fields: build.data_frame(offset, b"x" * 992, **fields)


def same(value: int, count: int) -> dict[str, int]:
    return {"count": count, "min": value, "p50": value, "p99": value, "max": value}


def test_times_from_setup_to_data_and_between_heartbeats(measured: Any, data: Any) -> None:
    report = measured((0, SETUP), (2, SETUP), (5, data(0)), *((105 + 100 * number, heartbeat(1024)) for number in range(4)))
    assert report["setup_to_first_data_ns"] == 5 * MS
    assert report["heartbeat_interval_ns"] == same(100 * MS, 3)
    assert measured((0, data(0)), (2, SETUP))["setup_to_first_data_ns"] is None


def test_tells_receivers_and_how_often_they_speak(measured: Any, data: Any) -> None:
    report = measured(
        (0, SETUP),
        (1, status(0, 4096)),
        (2, status(0, 8192, receiver=6)),
        (3, data(0)),
        (201, status(1024, 2048)),
        (401, status(1024, 2048, flags=SmFlags.EOS)),
        (500, status(0, 9, receiver=9, flags=SmFlags.SEND_SETUP)),
    )
    first, second = report["receivers"]
    assert (first["receiver_id"], first["status_messages"], first["interval_ns"]) == (5, 3, same(200 * MS, 2))
    assert (first["window_min"], first["window_max"], first["last_position"], first["end_of_stream"]) == (2048, 4096, 1024, True)
    assert (second["receiver_id"], second["interval_ns"], second["end_of_stream"]) == (6, None, False)
    assert first["source"] == "10.0.0.2:40002"


def test_measures_how_much_of_the_window_is_used_and_how_long_the_sender_waits(measured: Any, data: Any) -> None:
    report = measured(
        (0, SETUP),
        (1, status(0, 2048)),
        (2, data(0)),
        (3, data(1024)),
        (10, status(1024, 2048)),
        (11, data(2048)),
        (12, data(1024)),  # again, not new
        (20, status(3072, 2048)),
        (21, data(3072)),
    )
    window = report["window"]
    assert window["used_percent"] == {"count": 4, "min": 50, "p50": 50, "p99": 100, "max": 100}
    assert (window["stalls"], window["stalled_ns"], window["longest_stall_ns"], window["overruns"]) == (2, 18 * MS, 10 * MS, 0)


def test_the_most_generous_receiver_counts_and_an_overrun_is_seen(measured: Any, data: Any) -> None:
    report = measured((0, SETUP), (1, status(0, 4096)), (2, status(0, 1024, receiver=6)), *((3, data(1024 * place)) for place in range(5)))
    assert report["window"]["used_percent"]["max"] == 125
    assert (report["window"]["overruns"], report["window"]["stalls"]) == (1, 1)
    assert measured((0, SETUP), (3, data(0)))["window"] is None


def test_pairs_questions_and_answers_of_the_round_trip(measured: Any, data: Any) -> None:
    report = measured(
        (0, SETUP),
        (1, data(0)),
        (10, rttm(100, asks=True)),
        (11, rttm(100, asks=True, receiver=6)),
        (12, rttm(100, asks=False)),
        (14, rttm(100, asks=False, receiver=6)),
        (15, rttm(100, asks=False)),  # nobody asked again
        (16, rttm(200, asks=True)),
    )
    assert report["rtt_ns"] == {"count": 2, "min": 2 * MS, "p50": 2 * MS, "p99": 2 * MS, "max": 3 * MS}


def test_puts_messages_together_and_counts_those_that_lack_a_fragment(measured: Any, data: Any) -> None:
    begin, middle, end = DataFlags.BEGIN, 0, DataFlags.END
    report = measured(
        (0, SETUP),
        (1, data(0)),
        (2, data(1024, flags=begin)),
        (3, data(3072, flags=end)),
        (4, data(2048, flags=middle)),
        (5, data(4096, flags=begin)),
        (6, data(6144, flags=end)),
        (7, data(7168, flags=begin)),
        (8, data(8192)),
        (9, data(8192)),
    )
    assert report["message_length"] == {"count": 3, "min": 992, "p50": 992, "p99": 992, "max": 2976, "incomplete": 3}


def test_finds_the_fullest_moments(measured: Any, data: Any) -> None:
    times = [0.0, 0.1, 0.2, 5.0, 105.0, 106.0, 107.5, 108.0, 2000.0]
    report = measured((0, SETUP), *((ms, data(1024 * place)) for place, ms in enumerate(times)))
    throughput = report["throughput"]
    assert throughput["bytes"] == 9 * 1024
    assert throughput["bytes_per_s"] == 9 * 1024 // 2
    start = 1_700_000_000_000_000_000
    assert throughput["peaks"] == {
        "1ms": {"bytes": 3 * 1024, "from_ts_ns": start},
        "10ms": {"bytes": 4 * 1024, "from_ts_ns": start},
        "100ms": {"bytes": 4 * 1024, "from_ts_ns": start},
        "1s": {"bytes": 8 * 1024, "from_ts_ns": start},
    }
    assert measured((0, SETUP), (1, data(0)))["throughput"]["bytes_per_s"] is None


def test_agrees_with_what_is_known_of_golden_captures() -> None:
    (pressed,) = summarise(CAPTURES / "flow_control_backpressure.pcap")["streams"]
    assert pressed["window"]["used_percent"]["max"] == 99
    assert pressed["window"]["stalls"] > 0
    assert pressed["window"]["overruns"] == 0
    (fragmented,) = summarise(CAPTURES / "fragmented_10k.pcap")["streams"]
    assert fragmented["message_length"] == {**same(10_000, 8), "incomplete": 0}
    (cubic,) = summarise(CAPTURES / "cc_cubic_rtt.pcap")["streams"]
    assert cubic["rtt_ns"]["count"] == cubic["frames_by_type"]["RTTM"] // 2
