"""The rules find nothing in the official driver's captures, and every fault that is planted in one, at its packet."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import DataFlags, FrameType, RttmFlags, SmFlags
from aerowire.conformance.harness.capture import Datagram, read_datagrams
from aerowire.conformance.main import main
from aerowire.conformance.model import Verdict
from aerowire.conformance.verdicts.evaluation import evaluate_datagrams, evaluate_file
from aerowire.conformance.verdicts.rules import RULES
from tests.conformance.injector import edited, read, type_of
from tests.conformance.misbehaviour import is_data, is_elicit, is_heartbeat, is_nak, is_plain, is_setup

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
MS = 1_000_000

Datagrams = list[Datagram]
Match = Callable[[bytes], bool]
Plant = Callable[[Datagrams], int]


def is_type(kind: FrameType) -> Match:
    return lambda payload: type_of(payload) == kind


def places(datagrams: Datagrams, match: Match) -> list[int]:
    return [place for place, datagram in enumerate(datagrams) if match(datagram.payload)]


def place_of(datagrams: Datagrams, match: Match, count: int) -> int:
    return places(datagrams, match)[count]


def change(match: Match, count: int = 0, **fields: Any) -> Plant:
    """Change fields of the `count`th datagram that matches; return its place."""
    return rewrite(match, count, lambda payload: edited(payload, **fields))


def rewrite(match: Match, count: int, become: Callable[[bytes], bytes]) -> Plant:
    def plant(datagrams: Datagrams) -> int:
        place = place_of(datagrams, match, count)
        datagrams[place] = dataclasses.replace(datagrams[place], payload=become(datagrams[place].payload))
        return place

    return plant


def repeat(match: Match, count: int, after_ms: float, **fields: Any) -> Plant:
    """Say the `count`th datagram that matches once more, a while later."""

    def plant(datagrams: Datagrams) -> int:
        found = datagrams[place_of(datagrams, match, count)]
        again = dataclasses.replace(found, time_ns=found.time_ns + int(after_ms * MS), payload=edited(found.payload, **fields))
        place = next((place for place, each in enumerate(datagrams) if each.time_ns > again.time_ns), len(datagrams))
        datagrams.insert(place, again)
        return place

    return plant


def remove(match: Match, count: int, more: int = 1) -> Plant:
    """Remove datagrams that match from the `count`th on; return where the next one is."""

    def plant(datagrams: Datagrams) -> int:
        gone = places(datagrams, match)[count : count + more + 1]
        kept = datagrams[gone[-1]]
        for place in reversed(gone[:-1]):
            del datagrams[place]
        return datagrams.index(kept)

    return plant


def redirect(match: Match, count: int, destination: tuple[str, int]) -> Plant:
    def plant(datagrams: Datagrams) -> int:
        place = place_of(datagrams, match, count)
        datagrams[place] = dataclasses.replace(datagrams[place], destination=destination)
        return place

    return plant


def before(match: Match, count: int, other: Match, nth: int = 0) -> Plant:
    """Move the `count`th datagram that matches to just before the first of another kind."""

    def plant(datagrams: Datagrams) -> int:
        moved = datagrams.pop(place_of(datagrams, match, count))
        place = place_of(datagrams, other, nth)
        datagrams.insert(place, dataclasses.replace(moved, time_ns=datagrams[place].time_ns))
        return place

    return plant


def more(amount: int) -> Callable[[int], int]:
    return lambda value: value + amount


def is_end(payload: bytes) -> bool:
    return is_heartbeat(payload) and bool(read(payload).flags & DataFlags.EOS)


def is_fragment(payload: bytes) -> bool:
    return is_data(payload) and not read(payload).flags & DataFlags.BEGIN


def longer_by_two(payload: bytes) -> bytes:
    """A frame with two alignments more of payload."""
    return edited(payload + bytes(64), frame_length=more(64))


is_rttm, is_error, is_res, is_response = (is_type(each) for each in (FrameType.RTTM, FrameType.ERR, FrameType.RES, FrameType.RSP_SETUP))


def is_reply(payload: bytes) -> bool:
    return is_rttm(payload) and not payload[5] & RttmFlags.REPLY


def late_nak(datagrams: Datagrams) -> int:
    """Ask once more for what the last status message has consumed."""
    nak = datagrams[place_of(datagrams, is_nak, 0)]
    last = max(places(datagrams, lambda payload: is_plain(payload) and not read(payload).flags))
    datagrams.insert(last + 1, dataclasses.replace(nak, time_ns=datagrams[last].time_ns))
    return last + 1


def resent_twice(datagrams: Datagrams) -> int:
    """Send a second time, at once, what was just sent again."""
    seen = set()
    for place, datagram in enumerate(datagrams):
        if not is_data(datagram.payload):
            continue
        at = (read(datagram.payload).term_id, read(datagram.payload).term_offset)
        if at in seen:
            datagrams.insert(place + 1, dataclasses.replace(datagram, time_ns=datagram.time_ns + MS // 10))
            return place + 1
        seen.add(at)
    raise AssertionError("nothing was sent again")


def end_taken_back(datagrams: Datagrams) -> int:
    place = place_of(datagrams, lambda payload: is_plain(payload) and bool(read(payload).flags & SmFlags.EOS), 1)
    return change(lambda payload: payload == datagrams[place].payload, 1, flags=0)(datagrams)


def status_after_error(datagrams: Datagrams) -> int:
    status = datagrams[place_of(datagrams, is_plain, -1)]
    place = place_of(datagrams, is_error, 1)
    datagrams.insert(place + 1, dataclasses.replace(status, time_ns=datagrams[place].time_ns))
    return place + 1


def unasked_response(datagrams: Datagrams) -> int:
    """Take the flag off every SETUP that asks for a response."""
    for place in places(datagrams, is_setup):
        datagrams[place] = dataclasses.replace(datagrams[place], payload=edited(datagrams[place].payload, flags=0))
    return place_of(datagrams, is_response, 0)


SIMPLE, LOSS, GROUP, BATCHED = "unicast_simple", "loss_fixed", "multicast_two_subs", "unicast_batched"
PLANTED: list[tuple[str, str, str, Plant]] = [
    ("A01", "asks with a window", "mdc_dynamic_fc_max", change(is_elicit, receiver_window=1024)),
    ("A01", "asks with an end", "mdc_dynamic_fc_max", change(is_elicit, flags=SmFlags.SEND_SETUP | SmFlags.EOS)),
    ("A02", "asks twice in a second", "mdc_dynamic_fc_max", repeat(is_elicit, 0, 300)),
    ("A07", "opens too wide", SIMPLE, change(is_plain, 1, receiver_window=65_536)),
    ("A07", "consumes half a frame", SIMPLE, change(is_plain, 1, consumption_term_offset=8)),
    ("A10", "falls silent for a while", SIMPLE, remove(is_plain, 2, 2)),
    ("A15", "says it at length", SIMPLE, rewrite(is_plain, 1, lambda payload: payload + bytes(4))),
    ("B01", "pauses its SETUPs", "unicast_publisher_first", remove(is_setup, 3)),
    ("B02", "changes the MTU", "unicast_publisher_first", change(is_setup, 2, mtu=4096)),
    ("B02", "changes the term length", "unicast_publisher_first", change(is_setup, 2, term_length=131_072)),
    ("B02", "names half a frame", "unicast_publisher_first", change(is_setup, 2, term_offset=8)),
    ("B03", "forgets the group", GROUP, change(is_setup, 0, flags=0)),
    ("B05", "sends before it is asked", SIMPLE, before(is_heartbeat, 0, is_plain)),
    ("B08", "says SETUP too soon", "unicast_publisher_first", repeat(is_setup, 2, 40)),
    ("B17", "consumes what was not sent", SIMPLE, change(is_plain, 1, consumption_term_offset=32_768)),
    ("B17", "falls back", "flow_control_backpressure", repeat(is_plain, 3, 0.01, consumption_term_offset=0)),
    ("C03", "loses the beginning", "fragmented_10k", change(is_data, 8, flags=0)),
    ("C03", "begins within a message", "fragmented_10k", change(is_fragment, 2, flags=DataFlags.BEGIN)),
    (
        "C06",
        "sends more than the MTU",
        "fragmented_10k",
        rewrite(is_data, 1, longer_by_two),
    ),
    ("C08", "breaks the chain", BATCHED, rewrite(is_data, 0, lambda payload: payload[:104] + b"\x20" + payload[105:])),
    ("C08", "leaves the term", SIMPLE, change(is_data, 3, term_offset=65_536)),
    ("E01", "asks for nothing", LOSS, change(is_nak, 0, length=0)),
    ("E01", "asks beyond the term", LOSS, change(is_nak, 0, length=65_536)),
    ("E01", "asks for the future", LOSS, change(is_nak, 0, term_offset=60_000 // 32 * 32)),
    ("E03", "asks for what it has", LOSS, late_nak),
    ("E12", "asks somebody else", LOSS, redirect(is_nak, 0, ("127.0.0.1", 9))),
    ("E12", "tells the data's group", GROUP, redirect(is_plain, 2, ("224.0.1.1", 40_111))),
    ("F01", "sends again unasked", SIMPLE, repeat(is_data, 4, 30)),
    ("F02", "sends again at once", "loss_data_receiver_side", resent_twice),
    ("H01", "passes the window", "flow_control_backpressure", change(is_plain, 0, receiver_window=1024)),
    ("K01", "echoes another time", "cc_cubic_rtt", rewrite(is_reply, 3, lambda payload: payload[:16] + b"\x01" * 8 + payload[24:])),
    ("L01", "misses a heartbeat", SIMPLE, remove(is_heartbeat, 3)),
    ("L01", "beats too fast", SIMPLE, repeat(is_heartbeat, 2, 50)),
    ("L02", "beats in the past", SIMPLE, change(is_heartbeat, 3, term_offset=0)),
    ("L02", "beats with one flag", SIMPLE, change(is_heartbeat, 2, flags=DataFlags.BEGIN)),
    ("L03", "takes the end back", SIMPLE, change(is_end, 3, flags=DataFlags.UNFRAGMENTED)),
    ("L03", "ends elsewhere", SIMPLE, change(is_end, 3, term_offset=more(32))),
    ("L08", "goes on after the end", SIMPLE, end_taken_back),
    ("M00", "speaks another version", SIMPLE, rewrite(is_data, 2, lambda payload: payload[:4] + b"\x01" + payload[5:])),
    ("M00", "has a type of its own", SIMPLE, rewrite(is_data, 2, lambda payload: payload[:6] + b"\x63\x00" + payload[8:])),
    ("M00", "sets an unknown flag", SIMPLE, change(is_plain, 1, flags=0x04)),
    ("Q01", "lies about its text", "image_rejection", rewrite(is_error, 1, lambda payload: payload[:36] + b"\xff\x03\0\0" + payload[40:])),
    ("Q01", "rejects and goes on", "image_rejection", status_after_error),
    (
        "S01",
        "cuts an entry",
        "name_resolution",
        rewrite(is_res, 2, lambda payload: (len(payload) - 8).to_bytes(4, "little") + payload[4:-8]),
    ),
    ("T01", "answers nobody", "response_channel", unasked_response),
]
NAMES = [f"{each[0]}-{each[1].replace(' ', '_')}" for each in PLANTED]


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap")), ids=lambda path: path.stem)
def test_official_drivers_break_no_rule(path: Path) -> None:
    evaluation = evaluate_file(path)
    assert evaluation.checks.violations == []
    assert evaluation.is_pass
    assert sum(evaluation.checks.counts.values()) > evaluation.packets


def test_official_captures_put_every_rule_to_the_test() -> None:
    tested = {case_id for path in CAPTURES.glob("*.pcap") for case_id, count in evaluate_file(path).checks.counts.items() if count}
    assert tested == set(RULES)


@pytest.mark.parametrize(("case_id", "name", "capture", "plant"), PLANTED, ids=NAMES)
def test_planted_fault_is_found_at_its_packet(case_id: str, name: str, capture: str, plant: Plant) -> None:
    datagrams = list(read_datagrams(CAPTURES / f"{capture}.pcap"))
    place = plant(datagrams)
    numbered = [dataclasses.replace(datagram, index=index) for index, datagram in enumerate(datagrams)]
    evaluation = evaluate_datagrams(name, numbered)
    assert evaluation.checks.verdict(case_id) is Verdict.FAIL, evaluation.checks.violations[:3]
    found = [violation for violation in evaluation.checks.violations if violation.case_id == case_id]
    assert place + 1 in found[0].packets, (place + 1, found[0])


def test_every_rule_is_broken_by_a_planted_fault() -> None:
    assert {each[0] for each in PLANTED} == set(RULES)
    assert len(PLANTED) >= 40


def test_prints_case_verdict_and_packets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = CAPTURES / f"{SIMPLE}.pcap"
    assert main(["check", str(capture)]) == 0
    assert "  B02  pass " in capsys.readouterr().out
    data = bytearray(capture.read_bytes())
    at = next(datagram.payload for datagram in read_datagrams(capture) if is_plain(datagram.payload))
    where = data.index(at)
    data[where : where + len(at)] = edited(at, receiver_window=65_536)
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(data)
    assert main(["check", str(broken), str(capture)]) == 1
    out = capsys.readouterr().out
    assert "  A07  fail " in out
    assert "       packet 2: expected an offset within 65536, a window up to 32768; got offset 0, window 65536" in out
    assert main(["check", "--json", str(broken)]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document[0]["violations"][0] == {
        "case": "A07",
        "packets": [2],
        "expected": "an offset within 65536, a window up to 32768",
        "actual": "offset 0, window 65536",
    }


def test_uses_the_ports_that_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(CAPTURES / f"{SIMPLE}.pcap")
    assert main(["check", "--ports", "9", capture]) == 1
    assert "nothing of Aeron in it" in capsys.readouterr().out
    assert main(["check", "--ports", "40101", capture]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["check", "/no/such.pcap"], "/no/such.pcap: no such capture"), (["check", __file__], "neither pcap nor pcapng")],
)
def test_an_unreadable_capture_exits_with_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
