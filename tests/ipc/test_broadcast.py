"""The broadcast buffer: every reader gets every message, or knows that it missed some."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.base.errors import BroadcastLappedError, ForeignDirectoryError
from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder
from aerowire.ipc.broadcast import BroadcastReceiver, BroadcastTransmitter
from aerowire.memory.region import Region
from tests.support.waiting import wait_until

TRAILER = BroadcastTrailerDecoder.ENCODED_LENGTH


def make(capacity: int = 1024) -> tuple[BroadcastTransmitter, bytearray]:
    memory = bytearray(capacity + TRAILER)
    return BroadcastTransmitter(memory), memory


def test_all_readers_get_all_messages() -> None:
    transmitter, memory = make()
    readers = [BroadcastReceiver(memory) for _ in range(2)]
    for index in range(4):
        transmitter.transmit(index + 1, b"m" * index)
    for reader in readers:
        assert reader.receive() == (1, b"")
        assert reader.poll() == [(index + 1, b"m" * index) for index in range(1, 4)]
        assert reader.receive() is None


def test_late_reader_begins_at_the_newest_message() -> None:
    transmitter, memory = make()
    for index in range(3):
        transmitter.transmit(index + 1, b"x")
    assert BroadcastReceiver(memory).poll() == [(3, b"x")]


def test_lapped_reader_is_told_and_goes_on_at_the_newest_message() -> None:
    transmitter, memory = make(256)
    reader = BroadcastReceiver(memory)
    for index in range(20):
        transmitter.transmit(index + 1, bytes(16))
    with pytest.raises(BroadcastLappedError, match="lapped 1"):
        reader.poll()
    assert reader.lapped_count == 1
    assert reader.poll() == [(20, bytes(16))]
    transmitter.transmit(99, b"next")
    assert reader.receive() == (99, b"next")


def test_bad_messages_and_buffers_are_refused() -> None:
    transmitter, _ = make(256)
    assert transmitter.max_message_length == 32
    for kind, length in ((0, 1), (-1, 1), (1, 33)):
        with pytest.raises(ValueError, match="broadcast"):
            transmitter.transmit(kind, bytes(length))
    for length in (TRAILER, 100 + TRAILER, 3):
        with pytest.raises(ForeignDirectoryError):
            BroadcastReceiver(bytearray(length))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=32), st.integers(1, 5)), max_size=150))
def test_agrees_with_a_list(steps: list[bytes | int]) -> None:
    transmitter, memory = make(256)
    reader = BroadcastReceiver(memory)
    sent: list[tuple[int, bytes]] = []
    read = 0
    for number, step in enumerate(steps, 1):
        if isinstance(step, bytes):
            transmitter.transmit(number, step)
            sent.append((number, step))
            continue
        try:
            got = reader.poll(step)
        except BroadcastLappedError:
            read = len(sent) - 1
            continue
        assert got == sent[read : read + step]
        read += len(got)


DELIVERED = 2_000
WRITER = """
import sys
from aerowire.ipc.broadcast import BroadcastTransmitter
from aerowire.memory.region import Region
transmitter = BroadcastTransmitter(Region.map_file(sys.argv[1]))
number = 0
while True:
    number += 1
    transmitter.transmit(number, bytes([number & 0xFF]) * (number % 100))
"""


def test_overrun_reader_never_delivers_a_torn_message(tmp_path: Path) -> None:
    path = tmp_path / "broadcast"
    reader = BroadcastReceiver(Region.create_file(path, 2048 + TRAILER))
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
    delivered = lapped = newest = 0
    is_told = True

    def read() -> None:
        nonlocal delivered, lapped, newest, is_told
        assert writer.poll() is None
        try:
            messages = reader.poll()
        except BroadcastLappedError:
            lapped += 1
            is_told = True
            return
        delivered += len(messages)
        for kind, body in messages:
            assert set(body) <= {kind & 0xFF}
            assert is_told or kind == newest + 1, "messages were missed, and nothing said so"
            newest, is_told = kind, False

    try:
        wait_until(lambda: delivered >= DELIVERED, lambda: delivered, work=read)
    finally:
        writer.kill()
        writer.wait()
    while reader.lapped_count > lapped:  # it was found behind messages of the last poll
        with pytest.raises(BroadcastLappedError):
            reader.poll()
        lapped += 1
