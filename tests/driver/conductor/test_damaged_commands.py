"""A driver whose to-driver buffer another process writes into: it says so, and goes on to serve its clients."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.cnc import RingTrailerDecoder
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.ipc.error_log import read_errors

if TYPE_CHECKING:
    from tests.driver.conftest import RawClient

HEAD = RingTrailerDecoder.HEAD_POSITION_OFFSET - RingTrailerDecoder.ENCODED_LENGTH
TAIL = RingTrailerDecoder.TAIL_POSITION_OFFSET - RingTrailerDecoder.ENCODED_LENGTH


def put(client: RawClient, at: int, value: int, size: int) -> None:
    buffer = client.cnc.to_driver_buffer
    at = at if at >= 0 else len(buffer) + at
    buffer[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def assert_serves(client: RawClient) -> None:
    """A client's command is carried out within a few cycles."""
    client.work()
    registration_id = client.add_publication("aeron:ipc", 10)
    assert client.take(CommandType.ON_PUBLICATION_READY, registration_id).stream_id == 10


def errors_of(client: RawClient) -> list[str]:
    return [error.text for error in read_errors(client.cnc.error_log_buffer)]


@pytest.mark.parametrize("length", [2**31 - 1, -(2**31), 5, 100_000_000, -3])
def test_a_command_whose_length_is_none_is_skipped(client: RawClient, length: int) -> None:
    ring = client.cnc.to_driver
    at = ring.tail % (len(client.cnc.to_driver_buffer) - RingTrailerDecoder.ENCODED_LENGTH)
    client.send(CommandType.CLIENT_KEEPALIVE, bytes(16))
    put(client, at, length, 4)
    assert_serves(client)
    (text,) = errors_of(client)
    assert text.startswith(
        "DamagedBufferError: the to-driver buffer was damaged (record length); commands were skipped; at position 0 of cnc.dat"
    )


@pytest.mark.parametrize(
    ("at", "value"), [(TAIL, 0), (TAIL, 4), (TAIL, 1 << 40), (TAIL, -8), (HEAD, 4), (HEAD, 1 << 40), (HEAD, -1), (HEAD, 8)]
)
def test_a_position_that_is_none_is_set_back(client: RawClient, at: int, value: int) -> None:
    assert_serves(client)
    put(client, at, value, 8)
    assert_serves(client)
    (text,) = errors_of(client)
    assert "the to-driver buffer was damaged (tail position)" in text or "the to-driver buffer was damaged (head position)" in text


def test_a_ring_that_is_claimed_to_the_end_and_never_written_serves_again_after_the_liveness_timeout(
    launch: Callable[..., RawClient],
) -> None:
    client = launch(client_liveness_timeout_ns="50ms", publication_unblock_timeout_ns="100ms", timer_interval_ns="5ms")
    ring = client.cnc.to_driver
    put(client, TAIL, ring.head + len(client.cnc.to_driver_buffer) - RingTrailerDecoder.ENCODED_LENGTH, 8)
    client.work_until(lambda: ring.size == 0)
    assert_serves(client)


@pytest.mark.parametrize("kind", sorted(set(CommandType)))
def test_a_command_of_any_length_and_content_is_an_error_or_is_carried_out(client: RawClient, kind: int, seed: int) -> None:
    draw = random.Random(f"{seed} {kind}")
    for _ in range(60):
        body = bytearray(draw.randbytes(draw.choice((0, 3, 8, 16, 20, 24, 28, 32, 40, 60, 200))))
        for _ in range(draw.randrange(3)):  # lengths that are legal, negative, or beyond the record
            at = 4 * draw.randrange(max(len(body) // 4, 1))
            body[at : at + 4] = draw.choice((0, 4, 12, len(body), 2**31 - 1, -1, -(2**31))).to_bytes(4, "little", signed=True)
        if len(body) >= 8:
            body[:8] = client.client_id.to_bytes(8, "little")  # or each would make a client of its own
        client.send(kind, bytes(body))
    client.work(10)
    assert_serves(client)


@pytest.mark.parametrize("kind", [-2, 0, 99, 4096, 2**31 - 1, -(2**31)])
def test_an_unknown_type_is_answered_with_an_error(client: RawClient, kind: int) -> None:
    ring = client.cnc.to_driver
    index = ring.try_claim(CommandType.CLIENT_KEEPALIVE, 16)
    ring.claimed(index)[:] = client.client_id.to_bytes(8, "little") + (77).to_bytes(8, "little")
    put(client, index - 4, kind, 4)
    ring.commit(index)
    assert client.error_of(77)[0] == ErrorCode.UNKNOWN_COMMAND_TYPE_ID
    assert_serves(client)


@pytest.mark.parametrize(
    ("kind", "encoder", "text"),
    [
        (CommandType.ADD_PUBLICATION, commands.AddPublicationEncoder, "channel"),
        (CommandType.ADD_SUBSCRIPTION, commands.AddSubscriptionEncoder, "channel"),
        (CommandType.ADD_COUNTER, commands.AddCounterEncoder, "label"),
    ],
)
@pytest.mark.parametrize("words", ["x", "aeron:udp?endpoint=", "aeron:ipc?alias=", "aeron-spy:"])
def test_the_longest_text_that_a_command_can_hold_fills_neither_answers_nor_the_error_log(
    client: RawClient, kind: int, encoder: type, text: str, words: str
) -> None:
    room = client.cnc.to_driver.max_message_length - 200
    for number in range(3):
        client.request(
            kind,
            encoder,
            **({"stream_id": 5} if text == "channel" else {"type_id": 1001}),
            **{text: words + chr(97 + number) * (room // 3)},
        )
        client.work()
    assert sum(len(error) for error in errors_of(client)) < 20_000
    assert_serves(client)
