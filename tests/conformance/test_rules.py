"""The two layers of acceptance, case by case, and the generator of malformed datagrams."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerowire.codecs.flyweights.transport import (
    DataHeaderEncoder,
    ErrorFrameEncoder,
    FrameType,
    NakEncoder,
    ResponseSetupEncoder,
    RttmEncoder,
    SetupEncoder,
    StatusMessageEncoder,
)
from aerowire.conformance.malformed import Generator
from aerowire.conformance.rules import Effect, Endpoint, KnownStream, effect_of, is_valid_data, is_valid_frame

TERM = 65_536
KNOWN = KnownStream(session_id=11, stream_id=22, initial_term_id=7, term_length=TERM)
IDS = {"session_id": 11, "stream_id": 22}
RECEIVE, SEND = Endpoint.RECEIVE, Endpoint.SEND


def data(**fields: object) -> bytes:
    values: dict[str, object] = {"term_id": 7, "payload": bytes(32), **IDS, **fields}
    frame = DataHeaderEncoder.encode(**values)  # type: ignore[arg-type]
    return frame + bytes(-len(frame) % 32)


def setup(**fields: int) -> bytes:
    return SetupEncoder.encode(**{"term_length": TERM, "mtu": 1408, **IDS, **fields})


@pytest.mark.parametrize(
    ("datagram", "is_valid"),
    [
        (bytes(4), False),
        (data()[:8], False),
        (data(), True),
        (data(version=1), False),
        (data(frame_length=-1), False),
        (data()[:31], False),
        (data() + bytes(8), False),
        (data(frame_length=10_000), True),
        (data(type=12), False),
        (data(type=FrameType.EXT), False),
        (data(type=FrameType.ATS_DATA), False),
        (setup(), True),
        (setup()[:39], False),
        (setup(frame_length=41), False),
        (setup() + b"x", True),
        (NakEncoder.encode()[:27], False),
        (StatusMessageEncoder.encode()[:35], False),
        (StatusMessageEncoder.encode(group_tag=5), True),
        (ErrorFrameEncoder.encode()[:39], False),
        (RttmEncoder.encode()[:39], False),
        (ResponseSetupEncoder.encode()[:19], False),
        (bytes.fromhex("1600000000000700") + bytes(13), False),
        (bytes.fromhex("1600000000000700") + bytes(14), True),
    ],
)
def test_first_layer(datagram: bytes, is_valid: bool) -> None:
    assert is_valid_frame(datagram) is is_valid


@pytest.mark.parametrize(
    ("endpoint", "datagram", "effect"),
    [
        (RECEIVE, setup(), Effect.HANDLED),
        (RECEIVE, setup(stream_id=1), Effect.IGNORED),
        (RECEIVE, setup(term_length=65_537, stream_id=1), Effect.INVALID),
        (RECEIVE, setup(term_length=32_768), Effect.INVALID),
        (RECEIVE, setup(term_length=-(2**31)), Effect.INVALID),
        (RECEIVE, setup(term_offset=TERM), Effect.INVALID),
        (RECEIVE, setup(term_offset=16), Effect.INVALID),
        (RECEIVE, setup(term_offset=-32), Effect.INVALID),
        (RECEIVE, setup(mtu=0), Effect.INVALID),
        (RECEIVE, setup(mtu=33), Effect.INVALID),
        (RECEIVE, setup(mtu=65_536), Effect.INVALID),
        (SEND, setup(mtu=0), Effect.IGNORED),
        (RECEIVE, data(term_offset=16), Effect.INVALID),
        (RECEIVE, data(term_offset=16, session_id=1), Effect.HANDLED),
        (RECEIVE, data(term_offset=16, stream_id=1), Effect.IGNORED),
        (SEND, data(term_offset=16), Effect.IGNORED),
        (SEND, StatusMessageEncoder.encode(receiver_window=TERM // 2 + 1, **IDS), Effect.INVALID),
        (SEND, StatusMessageEncoder.encode(receiver_window=TERM // 2, **IDS), Effect.HANDLED),
        (SEND, StatusMessageEncoder.encode(receiver_window=TERM // 2 + 1), Effect.IGNORED),
        (SEND, StatusMessageEncoder.encode(receiver_window=-1), Effect.INVALID),
        (SEND, StatusMessageEncoder.encode(consumption_term_offset=8), Effect.INVALID),
        (RECEIVE, StatusMessageEncoder.encode(receiver_window=-1), Effect.IGNORED),
        (SEND, NakEncoder.encode(length=TERM + 1, **IDS), Effect.INVALID),
        (SEND, NakEncoder.encode(length=TERM + 1), Effect.IGNORED),
        (SEND, NakEncoder.encode(length=-1, **IDS), Effect.INVALID),
        (SEND, NakEncoder.encode(length=32, **IDS), Effect.HANDLED),
        (SEND, ErrorFrameEncoder.encode(error_text="no"), Effect.IGNORED),
        (SEND, ErrorFrameEncoder.encode(error_text="no", error_length=-1), Effect.INVALID),
        (SEND, ErrorFrameEncoder.encode(error_text="no", error_length=3), Effect.INVALID),
        (SEND, RttmEncoder.encode(**IDS), Effect.HANDLED),
        (SEND, RttmEncoder.encode(), Effect.IGNORED),
        (SEND, ResponseSetupEncoder.encode(**IDS), Effect.HANDLED),
        (RECEIVE, ResponseSetupEncoder.encode(**IDS), Effect.IGNORED),
    ],
)
def test_second_layer(endpoint: Endpoint, datagram: bytes, effect: Effect) -> None:
    assert effect_of(datagram, endpoint, KNOWN) is effect


@pytest.mark.parametrize(
    ("datagram", "is_valid"),
    [
        (data(), True),
        (data() + data(term_offset=64), True),
        (data() + data(term_offset=96), False),
        (data() + data(term_offset=64, type=FrameType.NAK), False),
        (data() + data(term_offset=64, frame_length=0), False),
        (data(frame_length=65), False),
        (data(frame_length=32), False),
        (data(payload=b"", frame_length=0), True),
        (data(frame_length=0), False),
        (data(type=FrameType.PAD, payload=b"", frame_length=1024), True),
        (data() + data(term_offset=64, type=FrameType.PAD, payload=b"", frame_length=1024), True),
        (data(term_offset=TERM - 32), False),
        (data(term_offset=TERM - 64), True),
        (data(term_offset=TERM - 32, type=FrameType.PAD, payload=b"", frame_length=33), False),
        (data(frame_length=2**31 - 1), False),
        (data(term_offset=TERM), False),
        (data(term_offset=-32), False),
    ],
)
def test_walk_through_a_data_datagram(datagram: bytes, is_valid: bool) -> None:
    assert is_valid_data(datagram, TERM) is is_valid


@given(st.binary(max_size=200), st.sampled_from(Endpoint))
def test_every_datagram_has_an_effect(datagram: bytes, endpoint: Endpoint) -> None:
    assert effect_of(datagram, endpoint, KNOWN) in Effect


def test_generator_repeats_itself_and_covers_every_type() -> None:
    first = list(islice(Generator(5, KNOWN, KNOWN), 550))
    assert first == list(islice(Generator(5, KNOWN, KNOWN), 550))
    assert first != list(islice(Generator(6, KNOWN, KNOWN), 550))
    kinds = {item.kind for item in first}
    assert kinds == {"DATA", "PAD", "NAK", "SM", "ERR", "SETUP", "RTTM", "RES", "RSP_SETUP", "unknown", "noise"}
    assert {item.endpoint for item in first} == {RECEIVE, SEND}
    assert sum(item.effect is Effect.INVALID for item in first) > 400
    assert all(effect_of(item.payload, item.endpoint, KNOWN) is item.effect for item in first)
    # Both layers are reached: some of what is invalid is a frame.
    assert sum(item.effect is Effect.INVALID and is_valid_frame(item.payload) for item in first) > 100
