"""What the summary says of a stream: literal frames in, a report out; and the commands around it."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderEncoder, NakEncoder, SetupEncoder
from aerowire.pcap.analysis.stream import merge_ranges
from aerowire.pcap.analysis.summary import summarise
from aerowire.pcap.commands import command

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
TERM = 65536


def setup(term_id: int = 3) -> bytes:
    return SetupEncoder.encode(session_id=7, stream_id=1001, initial_term_id=term_id, active_term_id=term_id, term_length=TERM, mtu=1408)


def nak(offset: int, length: int, term_id: int = 3) -> bytes:
    return NakEncoder.encode(session_id=7, stream_id=1001, term_id=term_id, term_offset=offset, length=length)


def heartbeat(offset: int, flags: int = DataFlags.UNFRAGMENTED, term_id: int = 3) -> bytes:
    return DataHeaderEncoder.encode(frame_length=0, flags=flags, session_id=7, stream_id=1001, term_id=term_id, term_offset=offset)


@pytest.fixture
def stream(build: SimpleNamespace, tmp_path: Path) -> Any:
    """Make a capture of datagrams in order, `<` before the bytes meaning from the receiver, and return the one stream's report."""

    def make(*datagrams: bytes | tuple[str, bytes]) -> dict[str, Any]:
        packets = []
        for datagram in datagrams:
            kind, data = datagram if isinstance(datagram, tuple) else (">", datagram)
            ends = (build.RECEIVER, build.SENDER) if "<" in kind else (build.SENDER, build.RECEIVER)
            source = bytes.fromhex("02000000000d" if "x" in kind else "020000000001")
            packets.append(build.ethernet(build.ip4(data, *ends), source=source))
        path = tmp_path / "stream.pcap"
        path.write_bytes(build.classic(packets))
        (report,) = summarise(path)["streams"]
        return dict(report)

    return make


@pytest.fixture
def data(build: SimpleNamespace) -> Any:
    """A frame that takes 64 bytes of its term."""
    return lambda offset, **fields: build.data_frame(offset, b"x" * 32, **fields)


def test_counts_messages_once_and_knows_the_stream(stream: Any, data: Any) -> None:
    report = stream(setup(), data(0), data(64, flags=DataFlags.BEGIN), data(128, flags=DataFlags.END), heartbeat(192))
    assert (report["session_id"], report["stream_id"], report["initial_term_id"], report["term_length"], report["mtu"]) == (
        7,
        1001,
        3,
        TERM,
        1408,
    )
    assert (report["messages"], report["payload_bytes"], report["last_position"], report["heartbeats"]) == (2, 96, 192, 1)
    assert report["paths"][0]["source"] == "10.0.0.1:40001"
    assert (report["gaps"], report["retransmissions"], report["duplicates"], report["reordered"]) == (0, 0, 0, 0)


def test_matches_a_retransmission_with_its_nak(stream: Any, data: Any) -> None:
    report = stream(setup(), data(0), data(128), ("<", nak(64, 64)), data(64))
    assert (report["gaps"], report["gap_bytes"], report["unrecovered_bytes"]) == (1, 64, 0)
    assert (report["naks"], report["nak_ranges"], report["retransmissions"], report["retransmitted_bytes"]) == (1, [(64, 128)], 1, 64)
    assert report["nak_to_retransmission_ns"] == dict.fromkeys(("min", "p50", "p99", "max"), 1_000_000_001)


def test_one_nak_is_answered_once(stream: Any, data: Any) -> None:
    report = stream(setup(), data(0), data(128), ("<", nak(64, 64)), data(64), data(64), data(64))
    assert (report["retransmissions"], report["duplicates"]) == (1, 2)


def test_a_repeated_nak_after_a_lost_answer_is_answered_again(stream: Any, data: Any) -> None:
    report = stream(setup(), data(0), data(64), ("<", nak(64, 64)), ("<", nak(64, 64)), ("x", data(64)), ("<", nak(64, 64)), data(64))
    assert (report["retransmissions"], report["retransmissions_dropped"], report["naks"]) == (2, 1, 3)
    assert report["nak_to_retransmission_ns"]["min"] == 1_000_000_001


def test_tells_overtaken_frames_from_duplicates(stream: Any, data: Any) -> None:
    report = stream(setup(), data(0), data(128), data(64), data(128))
    assert (report["retransmissions"], report["reordered"], report["duplicates"]) == (0, 1, 1)


def test_names_what_was_never_recovered(stream: Any, data: Any) -> None:
    report = stream(setup(), data(0), data(128), data(256), ("<", nak(64, 64)), data(64), heartbeat(384))
    assert (report["gaps"], report["gap_bytes"]) == (3, 192)
    assert report["paths"][0]["unrecovered"] == [(192, 256), (320, 384)]


def test_a_nak_that_induced_loss_dropped_causes_nothing(stream: Any, data: Any) -> None:
    report = stream(setup(), data(0), data(128), ("<x", nak(64, 64)), data(64))
    assert (report["naks"], report["naks_dropped"], report["retransmissions"], report["reordered"]) == (1, 1, 0, 1)


def test_a_frame_that_induced_loss_dropped_leaves_a_gap(stream: Any, data: Any) -> None:
    report = stream(setup(), data(0), ("x", data(64)), data(128), ("<", nak(64, 64)), data(64))
    assert (report["gaps"], report["unrecovered_bytes"], report["retransmissions"], report["messages"]) == (1, 0, 1, 3)


def test_positions_run_on_over_terms_whose_ids_wrap(stream: Any, data: Any) -> None:
    last, first = 2**31 - 1, -(2**31)
    report = stream(setup(last), data(TERM - 64, term_id=last), data(0, term_id=first), ("<", nak(64, 64, first)), data(128, term_id=first))
    assert (report["first_position"], report["last_position"]) == (TERM - 64, TERM + 192)
    assert report["nak_ranges"] == [(TERM + 64, TERM + 128)]
    assert report["gaps"] == 1


def test_knows_the_end_of_a_stream(stream: Any, data: Any) -> None:
    ended = stream(setup(), data(0), heartbeat(64, DataFlags.UNFRAGMENTED | DataFlags.EOS))
    assert (ended["end_of_stream"], ended["end_of_stream_position"], ended["revoked"]) == (True, 64, False)
    assert stream(setup(), heartbeat(0, 0xF0))["revoked"]


def test_works_without_a_setup(stream: Any, data: Any) -> None:
    report = stream(data(70_016), data(70_144))
    assert (report["term_length"], report["initial_term_id"], report["gaps"]) == (None, None, 1)


def test_merges_ranges_that_touch() -> None:
    assert merge_ranges([(5, 9), (0, 2), (2, 4), (6, 7)]) == [(0, 4), (5, 9)]


def test_golden_repeats_are_the_retransmissions_that_naks_asked_for() -> None:
    """In these captures every frame but the retransmissions came once, as the index says."""
    for name in ("loss_data_receiver_side", "loss_setup_sm_nak", "loss_multicast", "loss_fixed"):
        index = json.loads((CAPTURES / "index.json").read_text())[f"{name}.pcap"]["frames"]
        report = summarise(CAPTURES / f"{name}.pcap")
        assert report["naks"] == index["NAK"]
        assert (report["retransmissions"], report["duplicates"], report["reordered"]) == (index["(DATA repeats)"], 0, 0)


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser(prog="aerowire")
    command(parser.add_subparsers(required=True))
    parsed = parser.parse_args(["pcap", *arguments])
    return int(parsed.run(parsed))


def test_summary_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("summary", str(CAPTURES / "loss_data_sender_side.pcap"), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["packets"] == 287
    assert report["frames_by_type"] == {"DATA": 167, "NAK": 109, "SETUP": 1, "SM": 15}
    assert (report["gaps"], report["unrecovered_bytes"], report["messages"], report["payload_bytes"]) == (17, 0, 150, 45_000)


@pytest.mark.parametrize("name", ["mdc_manual", "response_channel", "name_resolution", "spies_simulate_connection", "unicast_revoke"])
def test_summary_command_prints_tables(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run("summary", str(CAPTURES / f"{name}.pcap")) == 0
    assert "frames by type" in capsys.readouterr().out


def test_frames_command_limits_and_selects(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("frames", str(CAPTURES / "name_resolution.pcap"), "--ports", "8050,8051", "--limit", "3", "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["type"] for row in rows] == ["RES"] * 3
    assert run("frames", str(CAPTURES / "image_rejection.pcap"), "--limit", "0") == 0
    assert capsys.readouterr().out.count("golden rejection reason") == 20


def test_commands_tell_a_damaged_capture_from_an_unreadable_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.write_bytes((CAPTURES / "unicast_simple.pcap").read_bytes()[:-7])
    for name in ("summary", "frames"):
        assert run(name, str(path)) == 1
    path.write_bytes(b"no capture")
    capsys.readouterr()
    for name in ("summary", "frames"):
        assert run(name, str(path)) == 2
        assert capsys.readouterr().err.count("\n") == 1
        assert run(name, str(tmp_path / "absent")) == 2
        assert "absent" in capsys.readouterr().err
    path.write_bytes(gzip.compress(b"no capture"))
    assert run("summary", str(path)) == 2
    assert run("summary", str(tmp_path)) == 2


@pytest.mark.parametrize("ports", ["", "x", "0", "65536", "1,,y"])
def test_commands_refuse_ports_that_are_none(ports: str) -> None:
    with pytest.raises(SystemExit) as caught:
        run("summary", str(CAPTURES / "unicast_simple.pcap"), "--ports", ports)
    assert caught.value.code == 2
