"""A to-clients buffer that another process writes into: the client ends with an error that says so."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from aerowire.base.errors import AerowireError, DamagedBufferError
from aerowire.client import Aeron
from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder
from aerowire.codecs.flyweights.commands import CommandType

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

TAIL = BroadcastTrailerDecoder.TAIL_OFFSET - BroadcastTrailerDecoder.ENCODED_LENGTH


def service_until_it_ends(client: Aeron) -> AerowireError:
    for _ in range(10):
        try:
            client.invoke()
        except AerowireError as error:
            return error
    raise AssertionError("the client goes on")


@pytest.mark.parametrize("length", [2**31 - 1, -5, 0, 3])
def test_a_record_of_a_length_that_is_none_ends_the_client(aeron: Aeron, driver: FakeDriver, length: int) -> None:
    buffer = driver.cnc.to_clients_buffer
    tail = int.from_bytes(buffer[TAIL : len(buffer) + TAIL + 8], "little")
    driver.success(-1)
    buffer[tail : tail + 4] = length.to_bytes(4, "little", signed=True)
    assert isinstance(service_until_it_ends(aeron), DamagedBufferError)
    with pytest.raises(DamagedBufferError, match="messages to its clients are damaged; at record length"):
        aeron.add_publication("aeron:ipc", 10)


@pytest.mark.parametrize("kind", [kind for kind in sorted(CommandType) if kind.name.startswith("ON_")])
@pytest.mark.parametrize("body", [b"", b"\1\2\3", b"\xff" * 80, b"\x7f" * 40])
def test_an_answer_that_is_not_of_its_layout_is_told_and_skipped(
    connect: Callable[..., Aeron], driver: FakeDriver, kind: CommandType, body: bytes
) -> None:
    errors: list[BaseException] = []
    client = connect(error_handler=errors.append)
    driver.transmitter.transmit(kind, body)
    client.invoke()
    assert len(errors) == 1 or len(body) >= 40  # its fixed part is all that some types have
    for error in errors:
        assert f"a message of the driver is malformed; at to-clients buffer, {kind.name}" in str(error)
    assert client.add_publication("aeron:ipc", 10).stream_id == 10


@pytest.mark.parametrize("kind", [kind for kind in sorted(CommandType) if kind.name.startswith("ON_")])
def test_answers_of_random_bytes_leave_the_client_alive(
    connect: Callable[..., Aeron], driver: FakeDriver, kind: CommandType, seed: int
) -> None:
    draw = random.Random(f"{seed} {kind}")
    client = connect(error_handler=lambda _error: None)
    client.add_subscription("aeron:ipc", 10)
    for _ in range(100):
        body = bytearray(draw.randbytes(draw.choice((8, 16, 24, 32, 36, 40, 48, 64, 100))))
        for _ in range(draw.randrange(4)):
            at = 4 * draw.randrange(len(body) // 4)
            body[at : at + 4] = draw.choice((0, 1, 4, len(body), 2**31 - 1, -1)).to_bytes(4, "little", signed=True)
        if kind is CommandType.ON_CLIENT_TIMEOUT and int.from_bytes(body[:8], "little") == client.client_id:
            continue  # the driver drops this client: what the bytes say is true
        driver.transmitter.transmit(kind, bytes(body))
        client.invoke()
    assert client.add_publication("aeron:ipc", 11).stream_id == 11
