"""The generator of accepted datagrams: reproducible, accepted by the rules, and sequences that can be kept and shortened."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameHeaderDecoder, FrameType, SetupDecoder, StatusMessageEncoder
from aerowire.conformance.accepted.generator import AcceptedGenerator
from aerowire.conformance.accepted.steps import Step, load, minimise, pause, save
from aerowire.conformance.accepted.targets import ReceiveTarget, ResolverTarget, SendTarget, Target
from aerowire.conformance.rules import Effect, Endpoint, KnownStream, effect_of, is_valid_data, is_valid_frame

RECEIVE = ReceiveTarget("in", (1001, 1002), 10_000)
SEND = SendTarget("out", 5, 1003, 0, 65536, 1408)
TARGETS: list[Target] = [RECEIVE, SEND, ResolverTarget("names")]
DRAWN = 20_000


def drawn(seed: int, count: int = DRAWN) -> list[Step]:
    return list(islice(AcceptedGenerator(seed, TARGETS), count))


def test_the_same_seed_draws_the_same_sequence(seed: int) -> None:
    assert drawn(seed, 2_000) == drawn(seed, 2_000)
    assert drawn(seed, 2_000) != drawn(seed + 1, 2_000)


def test_every_datagram_is_accepted_by_the_rules(seed: int) -> None:
    known = KnownStream(SEND.session_id, SEND.stream_id, SEND.initial_term_id, SEND.term_length)
    term_lengths: dict[tuple[int, int], int] = {}
    for step in drawn(seed):
        if step.pause_ns:
            continue
        assert is_valid_frame(step.payload), step
        kind = FrameHeaderDecoder(step.payload).type
        if step.target == "out":
            assert effect_of(step.payload, Endpoint.SEND, known) is not Effect.INVALID, step
        elif kind == FrameType.SETUP:
            setup = SetupDecoder(step.payload)
            at = KnownStream(setup.session_id, setup.stream_id, setup.initial_term_id, setup.term_length)
            assert effect_of(step.payload, Endpoint.RECEIVE, at) is Effect.HANDLED, step
            if step.kind == "setup":
                term_lengths[setup.stream_id, setup.session_id] = setup.term_length
        elif kind in (FrameType.DATA, FrameType.PAD):
            header = DataHeaderDecoder(step.payload)
            length = term_lengths.get((header.stream_id, header.session_id))
            assert length is None or is_valid_data(step.payload, length), step


def test_every_kind_of_datagram_is_drawn() -> None:
    generator = AcceptedGenerator(1, TARGETS)
    kinds: Counter[str] = Counter()
    sessions: dict[tuple[int, int], tuple[int, int, int]] = {}
    for step in islice(generator, DRAWN):
        kinds[step.kind] += 1
        if step.kind == "setup":
            setup = SetupDecoder(step.payload)
            sessions[setup.stream_id, setup.session_id] = (setup.initial_term_id, setup.term_length, 0)
        elif step.target == "in" and FrameHeaderDecoder(step.payload).type == FrameType.DATA:
            # What a receiver answers whose subscribers take everything at once.
            header = DataHeaderDecoder(step.payload)
            status = StatusMessageEncoder.encode(
                session_id=header.session_id,
                stream_id=header.stream_id,
                consumption_term_id=header.term_id,
                consumption_term_offset=header.term_offset,
                receiver_window=32768,
            )
            generator.feed("in", status)
    expected = {"setup", "data", "batch", "overlap", "gap", "again", "short", "padding", "term-end", "next-term", "fragment", "edge"}
    expected |= {
        "heartbeat",
        "end",
        "revoke",
        "changed-setup",
        "round-trip",
        "other-direction",
        "strange",
        "outside",
        "resolution",
        "pause",
    }
    expected |= {"status", "status-edge", "status-elsewhere", "status-many", "status-setup", "status-end", "nak", "nak-elsewhere"}
    expected |= {"response-setup", "error"}
    assert set(kinds) == expected


def test_positions_and_windows_come_from_what_the_driver_sends() -> None:
    generator = AcceptedGenerator(7, [SEND])
    sent = StatusMessageEncoder.encode(session_id=5, stream_id=1003)
    generator.feed("out", sent)
    generator.feed("out", b"")
    data = DataHeaderDecoder
    frame = bytearray(64)
    frame[data.TYPE_OFFSET] = FrameType.DATA
    frame[data.TERM_OFFSET_OFFSET : data.TERM_OFFSET_OFFSET + 4] = (4096).to_bytes(4, "little")
    generator.feed("out", bytes(frame))
    status = next(step for step in generator if step.kind == "status")
    assert int.from_bytes(status.payload[20:24], "little") == 4096 + 32


def test_a_saved_sequence_is_read_back(tmp_path: Path) -> None:
    steps = [*drawn(3, 50), pause(5_000_000)]
    save(tmp_path / "steps.txt", steps, remark="seed 3")
    assert load(tmp_path / "steps.txt") == steps
    # A process that died wrote half of its last line.
    whole = (tmp_path / "steps.txt").read_text()
    (tmp_path / "steps.txt").write_text(whole[:-10])
    assert load(tmp_path / "steps.txt") == steps[:-1]


def test_a_failing_sequence_is_minimised() -> None:
    steps = [Step("in", 0, str(number), bytes([number])) for number in range(64)]
    needed = {b"\x05", b"\x06", b"\x3c"}
    assert {step.payload for step in minimise(steps, lambda shorter: needed <= {step.payload for step in shorter})} == needed
    tried: list[int] = []

    def never(shorter: list[Step]) -> bool:
        tried.append(len(shorter))
        return False

    assert minimise(steps, never, tries=10) == steps
    assert len(tried) == 10
