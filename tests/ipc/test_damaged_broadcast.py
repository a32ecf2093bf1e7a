"""The to-clients buffer with bytes that no transmitter writes: a receiver says so, and the transmitter goes on."""

from __future__ import annotations

import random

import pytest

from aerowire.base.errors import BroadcastLappedError, DamagedBufferError, ForeignDirectoryError
from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder
from aerowire.ipc.broadcast import BroadcastReceiver, BroadcastTransmitter

CAPACITY = 1024
TRAILER = BroadcastTrailerDecoder.ENCODED_LENGTH
INTENT = CAPACITY + BroadcastTrailerDecoder.TAIL_INTENT_OFFSET
TAIL = CAPACITY + BroadcastTrailerDecoder.TAIL_OFFSET
LATEST = CAPACITY + BroadcastTrailerDecoder.LATEST_OFFSET


def make() -> tuple[BroadcastTransmitter, BroadcastReceiver, bytearray]:
    memory = bytearray(CAPACITY + TRAILER)
    return BroadcastTransmitter(memory), BroadcastReceiver(memory), memory


def put(memory: bytearray, at: int, value: int, size: int) -> None:
    memory[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


@pytest.mark.parametrize("length", [2**31 - 1, -1, -(2**31), 0, 7, 1025, 1000])
@pytest.mark.parametrize("kind", [5, -1])
def test_a_length_that_is_no_records_ends_the_receiver(length: int, kind: int) -> None:
    transmitter, reader, memory = make()
    for body in (b"good", b"bad"):
        transmitter.transmit(5, body)
    put(memory, 16, length, 4)
    put(memory, 20, kind, 4)
    if length == 1000 and kind == 5:
        assert [len(body) for _, body in reader.poll()] == [4, 992]  # it fits: what it says is for its reader to check
        return
    assert reader.poll() == [(5, b"good")]
    for _ in range(2):
        with pytest.raises(DamagedBufferError, match=r"damaged; at record length at position (16|1016)"):
            reader.poll()


def test_a_length_behind_padding_is_checked_too() -> None:
    transmitter, reader, memory = make()
    for _ in range(42):
        transmitter.transmit(5, bytes(16))
        reader.poll()
    transmitter.transmit(5, bytes(32))  # 1008 + 40 do not fit
    put(memory, 0, 2**31 - 1, 4)
    with pytest.raises(DamagedBufferError, match="position 1024"):
        reader.poll()


@pytest.mark.parametrize("tail", [-8, 8, 20, -(2**63), 2**63 - 1, 2**63 - 8, 0])
def test_a_tail_that_went_back_or_is_none_ends_the_receiver(tail: int) -> None:
    transmitter, reader, memory = make()
    transmitter.transmit(5, b"12345678")
    assert reader.poll() == [(5, b"12345678")]
    put(memory, TAIL, tail, 8)
    with pytest.raises(DamagedBufferError, match="tail position"):
        reader.poll()


def test_a_tail_far_ahead_ends_the_receiver_at_the_first_record_that_is_none() -> None:
    _, reader, memory = make()
    put(memory, TAIL, 1 << 40, 8)
    with pytest.raises(DamagedBufferError, match="record length"):
        reader.poll()


def test_an_intent_far_ahead_is_a_lap_and_no_crash() -> None:
    transmitter, reader, memory = make()
    transmitter.transmit(5, b"x")
    put(memory, INTENT, 1 << 40, 8)
    for _ in range(3):
        with pytest.raises(BroadcastLappedError):
            reader.poll()


@pytest.mark.parametrize("latest", [-8, 4, -1, 2**63 - 1, 2**63 - 8, 1 << 62])
def test_a_receiver_does_not_begin_at_a_position_that_is_none(latest: int) -> None:
    _, _, memory = make()
    put(memory, LATEST, latest, 8)
    with pytest.raises(DamagedBufferError, match="latest position"):
        BroadcastReceiver(memory)


@pytest.mark.parametrize("tail", [4, -8, 1 << 50, 1020, 2**63 - 1])
def test_the_transmitter_goes_on_at_its_own_position(tail: int) -> None:
    transmitter, reader, memory = make()
    transmitter.transmit(5, b"one")
    for at in (TAIL, INTENT, LATEST):
        put(memory, at, tail, 8)
    transmitter.transmit(5, b"two")
    assert [reader.receive(), reader.receive(), reader.receive()] == [(5, b"one"), (5, b"two"), None]


@pytest.mark.parametrize("tail", [12, -8, 2**63 - 8, 1 << 62])
def test_a_transmitter_does_not_begin_at_a_tail_that_is_none(tail: int) -> None:
    _, _, memory = make()
    put(memory, TAIL, tail, 8)
    with pytest.raises(ForeignDirectoryError, match="bad tail"):
        BroadcastTransmitter(memory)


@pytest.mark.parametrize("round_", range(20))
def test_random_damage_ends_in_messages_or_in_an_error(seed: int, round_: int) -> None:
    draw = random.Random(f"{seed} {round_}")
    for _ in range(50):
        transmitter, reader, memory = make()
        for _ in range(draw.randrange(80)):
            transmitter.transmit(draw.randrange(1, 20), draw.randbytes(draw.randrange(60)))
            if draw.randrange(20) == 0:
                at = draw.choice((INTENT, TAIL, LATEST, draw.randrange(CAPACITY)))
                value = draw.choice((-1, 1)) * draw.getrandbits(draw.choice((4, 12, 31, 63)))
                put(memory, at, value, draw.choice((1, 4)) if at < CAPACITY else 8)
            try:
                for _, body in reader.poll(draw.randrange(1, 5)):
                    assert len(body) <= CAPACITY
            except BroadcastLappedError:
                continue
            except DamagedBufferError:
                break
