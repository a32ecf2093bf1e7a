"""A to-clients buffer that another process writes into: the driver repairs it in its next cycle, without a message to send."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder
from aerowire.ipc.error_log import read_errors

if TYPE_CHECKING:
    from tests.driver.conftest import RawClient

INTENT = BroadcastTrailerDecoder.TAIL_INTENT_OFFSET
TAIL = BroadcastTrailerDecoder.TAIL_OFFSET
LATEST = BroadcastTrailerDecoder.LATEST_OFFSET


@pytest.mark.parametrize("value", [3, 8, 1 << 62, -8])
@pytest.mark.parametrize(
    ("offset", "field"), [(INTENT, "tail intent"), (TAIL, "tail position"), (LATEST, "latest position")], ids=["intent", "tail", "latest"]
)
@pytest.mark.parametrize("is_used", [False, True], ids=["fresh", "used"])
def test_a_position_is_written_anew_and_an_error_says_so(client: RawClient, offset: int, field: str, value: int, is_used: bool) -> None:
    if is_used:
        client.add_publication("aeron:ipc", 10)
        client.work()
    buffer = client.cnc.to_clients_buffer
    at = len(buffer) - BroadcastTrailerDecoder.ENCODED_LENGTH + offset
    before = bytes(buffer)
    buffer[at : at + 8] = value.to_bytes(8, "little", signed=True)
    client.driver.invoker.invoke()
    assert bytes(buffer) == before
    client.cnc.to_clients_receiver().poll()
    (text,) = [error.text for error in read_errors(client.cnc.error_log_buffer)]
    assert text.startswith(f"DamagedBufferError: the to-clients buffer was damaged ({field}) and is repaired; at position ")
    assert f"got {value} " in text


@pytest.mark.parametrize("length", [2**31 - 1, 3, -1, 0])
def test_the_last_record_begins_with_its_own_header_again(client: RawClient, length: int) -> None:
    client.add_publication("aeron:ipc", 10)
    client.work()
    buffer = client.cnc.to_clients_buffer
    trailer = len(buffer) - BroadcastTrailerDecoder.ENCODED_LENGTH
    latest = int.from_bytes(buffer[trailer + LATEST : trailer + LATEST + 8], "little")
    before = bytes(buffer)
    buffer[latest : latest + 4] = length.to_bytes(4, "little", signed=True)
    client.driver.invoker.invoke()
    assert bytes(buffer) == before
    assert len(client.cnc.to_clients_receiver().poll()) == 1
    (text,) = [error.text for error in read_errors(client.cnc.error_log_buffer)]
    assert "the to-clients buffer was damaged (record header) and is repaired" in text


def test_an_undamaged_buffer_is_left_alone(client: RawClient) -> None:
    for stream_id in range(10, 20):
        client.add_publication("aeron:ipc", stream_id)
        client.work()
    assert read_errors(client.cnc.error_log_buffer) == []
