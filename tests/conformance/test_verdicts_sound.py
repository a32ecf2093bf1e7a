"""What sound drivers do, and what captures of them look like, breaks no rule: the official captures, spliced and cut."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.transport import DataFlags, FrameType, SmFlags
from aerowire.conformance.harness.capture import Datagram, read_datagrams
from aerowire.conformance.verdicts.checks import Violation
from aerowire.conformance.verdicts.evaluation import Evaluation, evaluate_datagrams
from tests.conformance.injector import edited, read, type_of
from tests.conformance.misbehaviour import is_data

OF_SENDERS = (FrameType.SETUP, FrameType.DATA, FrameType.PAD)
CAPTURES = Path(__file__).parents[1] / "data" / "captures"
MS = 1_000_000
# Which fields of a frame are term ids.
TERMS = {
    FrameType.DATA: ("term_id",),
    FrameType.PAD: ("term_id",),
    FrameType.NAK: ("term_id",),
    FrameType.SM: ("consumption_term_id",),
    FrameType.SETUP: ("initial_term_id", "active_term_id"),
}


def capture(name: str) -> list[Datagram]:
    return list(read_datagrams(CAPTURES / f"{name}.pcap"))


def evaluated(datagrams: list[Datagram]) -> Evaluation:
    return evaluate_datagrams("sound", [dataclasses.replace(each, index=index) for index, each in enumerate(datagrams)])


def broken(datagrams: list[Datagram]) -> list[Violation]:
    return evaluated(datagrams).checks.violations


def later(datagrams: list[Datagram], ms: float) -> list[Datagram]:
    return [dataclasses.replace(each, time_ns=each.time_ns + int(ms * MS)) for each in datagrams]


def rewritten(datagrams: list[Datagram], become: Callable[[bytes], bytes]) -> list[Datagram]:
    return [dataclasses.replace(each, payload=become(each.payload)) for each in datagrams]


def other_terms(payload: bytes) -> bytes:
    """The same frame of a stream whose terms begin elsewhere."""
    return edited(payload, **{name: lambda value: value + 7 for name in TERMS.get(FrameType(type_of(payload)), ())})


def from_port(datagrams: list[Datagram], old: int, new: int) -> list[Datagram]:
    def moved(address: tuple[str, int]) -> tuple[str, int]:
        return (address[0], new) if address[1] == old else address

    return [dataclasses.replace(each, source=moved(each.source), destination=moved(each.destination)) for each in datagrams]


def test_session_id_is_used_again_by_the_next_publication() -> None:
    first = capture("unicast_simple")
    second = later(rewritten(first, other_terms), 8_000)
    evaluation = evaluated(first + second)
    assert evaluation.checks.violations == []
    assert evaluation.streams == 2


def test_publication_that_begins_again_where_it_began_before() -> None:
    first = capture("unicast_simple")
    evaluation = evaluated(first + later(first, 8_000))
    assert evaluation.checks.violations == []
    assert evaluation.streams == 2


def test_session_id_is_used_on_two_channels_at_once() -> None:
    first = capture("unicast_simple")
    (sender,) = {each.source[1] for each in first if type_of(each.payload) == FrameType.SETUP}
    second = from_port(later(rewritten(first, other_terms), 3), sender, sender + 1)
    merged = sorted(first + second, key=lambda each: each.time_ns)
    evaluation = evaluated(merged)
    assert evaluation.checks.violations == []
    assert evaluation.streams == 2


def test_receiver_leaves_and_comes_back() -> None:
    # Its subscription has ended, another of the same endpoint begins: nothing says so but the SETUP that the sender had to send again.
    datagrams = capture("unicast_simple")
    setup, status = datagrams[0], datagrams[25]
    ended = [each for each in datagrams[:30] if type_of(each.payload) != FrameType.SM] + [
        dataclasses.replace(status, time_ns=datagrams[1].time_ns),
        dataclasses.replace(status, time_ns=datagrams[1].time_ns + 1, payload=edited(status.payload, flags=SmFlags.EOS)),
        dataclasses.replace(setup, time_ns=datagrams[28].time_ns, payload=edited(setup.payload, term_offset=1280)),
        dataclasses.replace(status, time_ns=datagrams[28].time_ns + 1),
    ]
    assert broken(sorted(ended, key=lambda each: each.time_ns)) == []


def test_rejected_stream_is_set_up_again() -> None:
    datagrams = capture("image_rejection")
    place = next(place for place, each in enumerate(datagrams) if type_of(each.payload) == FrameType.ERR)
    status = next(each for each in datagrams if type_of(each.payload) == FrameType.SM)
    at = datagrams[place + 3].time_ns
    again = edited(datagrams[0].payload, term_offset=1824)
    datagrams[place + 4 :] = [
        dataclasses.replace(datagrams[0], time_ns=at + 1, payload=again),
        dataclasses.replace(status, time_ns=at + 2),
    ]
    assert broken(datagrams) == []


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap")), ids=lambda path: path.stem)
def test_capture_may_begin_anywhere(path: Path) -> None:
    datagrams = capture(path.stem)
    for cut in sorted({*range(1, min(len(datagrams) - 2, 30)), *range(1, len(datagrams) - 2, max(1, len(datagrams) // 12))}):
        # A stream that is still at its beginning cannot be told from one that begins.
        assert [each for each in broken(datagrams[cut:]) if each.case_id != "B05"] == [], cut


def test_round_trip_may_begin_before_the_capture() -> None:
    datagrams = capture("cc_cubic_rtt")
    assert broken([datagrams[0], *datagrams[4:]]) != []
    moved = dataclasses.replace(datagrams[0], payload=edited(datagrams[0].payload, term_offset=32))
    assert [each for each in broken([moved, *datagrams[4:]]) if each.case_id == "K01"] == []


def test_group_that_the_capturing_driver_does_not_know() -> None:
    # As our driver captures what a socket receives that is bound to no host.
    sound = [
        dataclasses.replace(each, destination=("0.0.0.0", each.destination[1])) if type_of(each.payload) in OF_SENDERS else each
        for each in capture("multicast_two_subs")
    ]
    assert [each for each in broken(sound) if each.case_id == "E12"] == []


def test_what_the_network_lost_was_not_late() -> None:
    datagrams = capture("unicast_simple")
    heartbeat, status = 26, 28
    lost = [each for place, each in enumerate(datagrams) if place not in (heartbeat, status)]
    assert {each.case_id for each in broken(lost)} == {"L01", "A10"}
    marked = [dataclasses.replace(each, note="dropped") if place in (heartbeat, status) else each for place, each in enumerate(datagrams)]
    evaluation = evaluated(marked)
    assert evaluation.checks.violations == []
    assert set(evaluation.checks.left) == {"L01", "A10"}


def test_silence_is_no_loss() -> None:
    datagrams = [dataclasses.replace(each, note="dropped") if place == 5 else each for place, each in enumerate(capture("unicast_simple"))]
    silent = [*datagrams[:24], *later(datagrams[24:], 900)]
    assert "L01" in {each.case_id for each in broken(silent)}


def test_receiver_that_ended_asks_and_begins_again() -> None:
    datagrams = capture("unicast_simple")
    setup, status = datagrams[0], datagrams[25]
    at = datagrams[28].time_ns
    request = edited(status.payload, flags=SmFlags.SEND_SETUP, consumption_term_id=0, consumption_term_offset=0, receiver_window=0)
    ended = [each for each in datagrams[:30] if type_of(each.payload) != FrameType.SM] + [
        dataclasses.replace(status, time_ns=datagrams[1].time_ns),
        dataclasses.replace(status, time_ns=datagrams[1].time_ns + 1, payload=edited(status.payload, flags=SmFlags.EOS)),
        dataclasses.replace(status, time_ns=at, payload=request),
        dataclasses.replace(setup, time_ns=at + 1, payload=edited(setup.payload, term_offset=1280)),
        dataclasses.replace(status, time_ns=at + 2),
    ]
    assert broken(sorted(ended, key=lambda each: each.time_ns)) == []


def test_datagram_that_was_held_back_does_not_make_the_next_come_too_soon() -> None:
    datagrams = capture("unicast_simple")

    def held_back(place: int, ms: float) -> list[Datagram]:
        found = list(datagrams)
        found[place] = dataclasses.replace(found[place], time_ns=found[place].time_ns + int(ms * MS))
        return sorted(found, key=lambda each: each.time_ns)

    data, heartbeat = 23, 26
    assert "L01" not in {each.case_id for each in broken(held_back(data, 50))}
    assert broken(held_back(heartbeat, 50)) == []
    setups = capture("unicast_publisher_first")
    setups[2] = dataclasses.replace(setups[2], time_ns=setups[2].time_ns + 50 * MS)
    assert [each for each in broken(setups) if each.case_id == "B08"] == []


def test_heartbeats_that_always_come_too_soon_are_told() -> None:
    datagrams = capture("unicast_simple")
    first = datagrams[24].time_ns
    hurried = [*datagrams[:24], *(dataclasses.replace(each, time_ns=first + (each.time_ns - first) // 2) for each in datagrams[24:30])]
    assert "L01" in {each.case_id for each in broken(hurried)}


def test_message_goes_on_where_the_capture_has_a_hole() -> None:
    datagrams = capture("fragmented_10k")
    place = next(place for place, each in enumerate(datagrams) if is_data(each.payload) and not read(each.payload).flags & DataFlags.BEGIN)
    frame = read(datagrams[place + 1].payload)
    heartbeat = edited(datagrams[place].payload[:32], frame_length=0, flags=DataFlags.UNFRAGMENTED, term_offset=frame.term_offset)
    # A frame and more were not captured; the heartbeat behind them says how far the sender is.
    rest = datagrams[place + 2 :]
    message = next(index for index, each in enumerate(rest) if is_data(each.payload) and read(each.payload).flags & DataFlags.BEGIN)
    after = edited(heartbeat, term_offset=read(rest[message].payload).term_offset)
    datagrams[place:] = [dataclasses.replace(rest[message], payload=after, time_ns=rest[message].time_ns - 1), *rest[message:]]
    assert [each for each in broken(datagrams) if each.case_id == "C03"] == []


def test_padding_ends_a_message_that_its_publisher_left() -> None:
    datagrams = capture("fragmented_10k")
    place = next(place for place, each in enumerate(datagrams) if is_data(each.payload) and not read(each.payload).flags & DataFlags.BEGIN)
    kept = datagrams[place]
    datagrams[place] = dataclasses.replace(kept, payload=edited(kept.payload, type=FrameType.PAD, flags=DataFlags.UNFRAGMENTED))
    follower = datagrams[place + 1]
    datagrams[place + 1] = dataclasses.replace(follower, payload=edited(follower.payload, flags=DataFlags.UNFRAGMENTED))
    assert [each for each in broken(datagrams[: place + 2]) if each.case_id == "C03"] == []


def test_question_to_a_name_server_is_not_the_drivers() -> None:
    datagrams = capture("unicast_simple")
    question = bytes.fromhex("1a2b01000001000000000000") + b"\x0eaerowire-tests\0" + b"\0\x01\0\x01\0"
    asked = dataclasses.replace(datagrams[3], source=("127.0.0.1", 53_001), destination=("127.0.0.1", 53), payload=question)
    assert broken([*datagrams[:4], asked, *datagrams[4:]]) == []


def merged(datagrams: list[Datagram], places: list[int]) -> list[Datagram]:
    """Let neighbouring datagrams be captured as one, as a sender may hand them over."""
    first = datagrams[places[0]]
    payload = b"".join(datagrams[place].payload for place in places)
    kept = [each for place, each in enumerate(datagrams) if place not in places[1:]]
    kept[places[0]] = dataclasses.replace(first, payload=payload)
    return kept


def train(datagrams: list[Datagram]) -> list[int]:
    """Return the places of some datagrams of data that follow each other, all but the last of one size, longer together than the MTU."""
    for start, first in enumerate(datagrams):
        places = [start]
        while is_data(first.payload) and places[-1] + 1 < len(datagrams):
            following = datagrams[places[-1] + 1]
            if not is_data(following.payload) or following.destination != first.destination or len(following.payload) > len(first.payload):
                break
            places.append(places[-1] + 1)
            if len(following.payload) < len(first.payload):
                break
        if len(places) > 2 and len(first.payload) > 1000:
            return places
    raise AssertionError("no such datagrams")


def test_each_segment_of_a_datagram_is_checked() -> None:
    datagrams = capture("fragmented_10k")
    together = merged(datagrams, train(datagrams))
    assert max(len(each.payload) for each in together) > 2 * 1408
    assert broken(together) == []
    assert evaluated(together).checks.counts["C08"] == evaluated(datagrams).checks.counts["C08"]


def test_datagram_beyond_the_mtu_that_is_no_such_train_is_told() -> None:
    datagrams = capture("fragmented_10k")
    # The end of a message and the beginning of the next: no sender cuts the shorter piece first.
    last = train(datagrams)[-1]
    following = next(place for place in range(last + 1, len(datagrams)) if is_data(datagrams[place].payload))
    pair = [*datagrams[: last + 1], datagrams[following], *datagrams[last + 1 : following], *datagrams[following + 1 :]]
    assert len(pair[last].payload) < len(pair[last + 1].payload)
    assert [each.case_id for each in broken(merged(pair, [last, last + 1]))][:1] == ["C06"]


@pytest.mark.parametrize(("gap_ms", "found"), [(990.0, []), (945.0, []), (930.0, ["A02"])])
def test_request_that_left_late_does_not_make_the_next_come_too_soon(gap_ms: float, found: list[str]) -> None:
    datagrams = capture("unicast_simple")
    status = next(each for each in datagrams if type_of(each.payload) == FrameType.SM)
    request = edited(status.payload, flags=SmFlags.SEND_SETUP, consumption_term_id=0, consumption_term_offset=0, receiver_window=0)
    first = dataclasses.replace(status, payload=request, time_ns=datagrams[0].time_ns - 2_000_000_000)
    second = dataclasses.replace(first, time_ns=first.time_ns + int(gap_ms * 1e6))
    assert [each.case_id for each in broken([first, second, *datagrams])] == found


@pytest.mark.parametrize(("late_ms", "found"), [(10.0, []), (55.0, []), (75.0, ["B08"])])
def test_first_setup_may_have_been_late(late_ms: float, found: list[str]) -> None:
    datagrams = capture("unicast_publisher_first")
    first = next(place for place, each in enumerate(datagrams) if type_of(each.payload) == FrameType.SETUP)
    later_by = dataclasses.replace(datagrams[first], time_ns=datagrams[first].time_ns + int(late_ms * 1e6))
    assert [each.case_id for each in broken([*datagrams[:first], later_by, *datagrams[first + 1 :]])] == found
