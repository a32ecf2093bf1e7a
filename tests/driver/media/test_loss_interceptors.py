"""Interceptors that lose what comes in by what it says, against frames and places written out, and against dumb twins."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerowire.codecs.flyweights.transport import DataHeaderEncoder, FrameType, SetupEncoder
from aerowire.driver.media.capture_port import CapturePort
from aerowire.driver.media.loss_arguments import make_interceptors
from aerowire.driver.media.loss_interceptors import FixedLoss, LossInterceptor, MultiGapLoss, RandomLoss
from aerowire.driver.media.loss_port import LossPort
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.network import SimulatedNetwork
from aerowire.system.clock import ManualClock

A, B = ("10.0.0.1", 5000), ("10.0.0.2", 6000)
TERM_ID = 7
LENGTH = 1024


def data(offset: int, length: int = LENGTH, *, term_id: int = TERM_ID, session_id: int = 1, stream_id: int = 10) -> bytes:
    head = DataHeaderEncoder.encode(
        frame_length=length,
        type=FrameType.DATA,
        term_offset=offset,
        session_id=session_id,
        stream_id=stream_id,
        term_id=term_id,
    )
    return head + bytes(length - len(head))


class Wire:
    """Sends datagrams to a port with interceptors and tells which came through."""

    def __init__(self, *interceptors: LossInterceptor) -> None:
        self.network = SimulatedNetwork(ManualClock(now_ns=0, epoch_ms=0), seed=1, faults=LinkFaults(latency_ns=0))
        self.sender = self.network.open_port(A, B)
        self.port = LossPort(self.network.open_port(B), interceptors=interceptors)

    def passes(self, *datagrams: bytes) -> list[bool]:
        result = []
        for datagram in datagrams:
            assert self.sender.send_datagrams([(datagram, None)]) == 1
            result.append(bool(self.port.receive_datagrams(4)))
        return result

    def lost(self, *datagrams: bytes) -> list[int]:
        """Return the indices of what did not come through."""
        return [index for index, is_there in enumerate(self.passes(*datagrams)) if not is_there]


# ---- one place


def test_fixed_loss_takes_a_stream_s_first_data_up_to_the_limit_and_each_place_once() -> None:
    wire = Wire(FixedLoss(term_id=TERM_ID, term_offset=1024, length=1500))
    frames = [data(offset) for offset in range(0, 5 * LENGTH, LENGTH)]
    assert wire.lost(*frames) == [0, 1, 2]
    assert wire.lost(*frames) == []
    assert wire.port.incoming.lost == 3


def test_fixed_loss_leaves_what_comes_after_the_limit_and_other_terms() -> None:
    wire = Wire(FixedLoss(term_id=TERM_ID, term_offset=0, length=LENGTH))
    assert wire.lost(data(0, term_id=TERM_ID + 1), data(LENGTH), data(0)) == []
    wire = Wire(FixedLoss(term_id=TERM_ID, term_offset=0, length=LENGTH))
    assert wire.lost(data(0), data(0), data(LENGTH)) == [0]


def test_fixed_loss_remembers_each_stream_and_session() -> None:
    wire = Wire(FixedLoss(term_id=TERM_ID, term_offset=0, length=LENGTH))
    frames = [data(0, session_id=session, stream_id=stream) for session in (1, -1) for stream in (10, 11)]
    assert wire.lost(*frames) == [0, 1, 2, 3]
    assert wire.lost(*frames) == []


def test_only_data_is_lost_in_a_place() -> None:
    wire = Wire(FixedLoss(term_id=0, term_offset=0, length=1 << 20))
    assert wire.lost(SetupEncoder.encode(), b"", b"x", data(0, term_id=0)[:31]) == []


def test_two_sockets_of_one_agent_share_what_was_lost() -> None:
    interceptor = FixedLoss(term_id=TERM_ID, length=LENGTH)
    first, second = Wire(interceptor), Wire(interceptor)
    assert first.lost(data(0)) == [0]
    assert second.lost(data(0)) == []


# ---- many gaps


def test_gaps_come_at_each_multiple_but_the_first_and_end_after_their_number() -> None:
    wire = Wire(MultiGapLoss(term_id=TERM_ID, gap_radix=4 * LENGTH, gap_length=100, total_gaps=2))
    frames = [data(offset) for offset in range(0, 20 * LENGTH, LENGTH)]
    assert wire.lost(*frames) == [4, 8]
    assert wire.lost(*frames) == []


def test_a_gap_takes_what_reaches_into_it_and_what_begins_in_it() -> None:
    wire = Wire(MultiGapLoss(term_id=TERM_ID, gap_radix=4096, gap_length=2000, total_gaps=9))
    assert wire.lost(data(2048, 2048), data(3072, 1056), data(4128), data(5152), data(6176)) == [1, 2, 3]


def test_the_distance_of_gaps_is_a_power_of_two() -> None:
    wire = Wire(MultiGapLoss(term_id=TERM_ID, gap_radix=3000, gap_length=1, total_gaps=3))
    # The last gap is counted with the distance as it was written.
    assert wire.lost(*(data(offset) for offset in range(0, 16 * LENGTH, LENGTH))) == [4, 8]


class GapTwin:
    """What the C driver does, as it is told there."""

    def __init__(self, radix: int, length: int, gaps: int) -> None:
        self.rounded = 1
        while self.rounded < radix:
            self.rounded *= 2
        self.length = length
        self.last = gaps * radix + length
        self.lost_to: int | None = None

    def drops(self, offset: int, length: int) -> bool:
        if offset > self.last:
            return False
        if self.lost_to is None:
            self.lost_to = offset
        if self.lost_to > offset:
            return False
        before = offset // self.rounded * self.rounded
        after = before + self.rounded
        if (
            (offset != 0 and offset % self.rounded == 0)
            or (before > 0 and offset < before + self.length)
            or (offset + length > after and offset < after + self.length)
        ):
            self.lost_to = offset + length
            return True
        return False


@given(
    radix=st.integers(1, 300),
    length=st.integers(0, 300),
    gaps=st.integers(0, 8),
    frames=st.lists(st.tuples(st.integers(0, 80), st.integers(1, 6)), max_size=60),
)
def test_gaps_are_those_of_the_c_driver(radix: int, length: int, gaps: int, frames: list[tuple[int, int]]) -> None:
    wire = Wire(MultiGapLoss(term_id=TERM_ID, gap_radix=radix, gap_length=length, total_gaps=gaps))
    twin = GapTwin(radix, length, gaps)
    for offset, size in frames:
        assert wire.passes(data(32 * offset, 32 * size)) == [not twin.drops(32 * offset, 32 * size)]


# ---- by chance


@pytest.mark.parametrize("seed", [0, 1, 0x1234_5678_9ABC_DEF0])
def test_the_dice_are_those_of_the_c_driver(seed: int) -> None:
    erand48 = ctypes.CDLL(None).erand48
    erand48.restype = ctypes.c_double
    state = (ctypes.c_ushort * 3)(seed >> 32 & 0xFFFF, seed >> 16 & 0xFFFF, seed & 0xFFFF)
    expected = [index for index in range(300) if erand48(state) <= 0.3]
    wire = Wire(RandomLoss(rate=0.3, seed=seed, types=1 << FrameType.DATA))
    assert wire.lost(*(data(0) for _ in range(300))) == expected


def test_a_mask_names_the_types_that_may_be_lost() -> None:
    wire = Wire(RandomLoss(rate=1.0, types=1 << FrameType.SETUP))
    assert wire.lost(data(0), SetupEncoder.encode(type=FrameType.SETUP), b"\0") == [1]
    assert Wire(RandomLoss(rate=1.0)).lost(data(0)) == []
    assert Wire(RandomLoss(rate=0.0, types=0xFFFF)).lost(data(0)) == []


# ---- several


def test_the_interceptor_named_last_is_asked_first() -> None:
    # What chance has taken is unknown to the one behind it, which then takes it the second time.
    options = {
        "udp_channel_incoming_interceptors": "fixed-loss,loss",
        "udp_channel_transport_bindings_loss_args": "rate=1.0|recv-msg-mask=2",
        "udp_channel_transport_bindings_fixed_loss_args": f"term-id={TERM_ID}|length={LENGTH}",
    }
    chance, place = make_interceptors(options)
    assert (type(chance), type(place)) == (RandomLoss, FixedLoss)
    assert Wire(chance, place).lost(data(0)) == [0]
    assert Wire(place).lost(data(0), data(0)) == [0]


def test_what_is_no_interceptor_is_refused() -> None:
    network = SimulatedNetwork(ManualClock(now_ns=0, epoch_ms=0), seed=1)
    with pytest.raises(TypeError, match="expected a LossInterceptor, actual type"):
        LossPort(network.open_port(B), interceptors=[CapturePort])  # type: ignore[list-item]
