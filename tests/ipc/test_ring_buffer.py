"""The command ring: records, wrapping, holes, and a dumb queue that must agree with it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.base.errors import ForeignDirectoryError, RingBufferFullError
from aerowire.codecs.flyweights.cnc import RingTrailerDecoder
from aerowire.ipc.ring_buffer import INSUFFICIENT_CAPACITY, ManyToOneRingBuffer
from aerowire.memory.region import Region

TRAILER = RingTrailerDecoder.ENCODED_LENGTH
HEADER = 8
TYPE = 7


def ring(capacity: int = 1024) -> tuple[ManyToOneRingBuffer, memoryview]:
    memory = memoryview(Region.anonymous(capacity + TRAILER))[: capacity + TRAILER]
    return ManyToOneRingBuffer(memory), memory


def test_messages_come_out_in_order_and_the_memory_is_zeroed() -> None:
    buffer, memory = ring()
    for index in range(5):
        buffer.write(index + 1, b"x" * index)
    assert buffer.size == 8 + 4 * 16
    assert buffer.poll() == [(index + 1, b"x" * index) for index in range(5)]
    assert bytes(memory[:1024]) == bytes(1024)
    assert buffer.head == buffer.tail == 8 + 4 * 16
    assert buffer.size == 0


def test_limit_leaves_the_rest() -> None:
    buffer, _ = ring()
    for index in range(5):
        buffer.write(TYPE, b"%d" % index)
    seen: list[tuple[int, bytes]] = []
    assert buffer.read(lambda kind, body: seen.append((kind, body)), 2) == 2
    assert seen == [(TYPE, b"0"), (TYPE, b"1")]
    assert [body for _, body in buffer.poll()] == [b"2", b"3", b"4"]


def test_message_that_does_not_fit_before_the_end_wraps_behind_padding() -> None:
    buffer, memory = ring(256)
    for _ in range(7):
        buffer.write(TYPE, bytes(24))
    assert len(buffer.poll()) == 7
    buffer.write(TYPE, bytes(range(32)))  # 40 bytes, 32 are left
    assert bytes(memory[224 + 4 : 224 + 8]) == b"\xff\xff\xff\xff"
    assert buffer.poll() == [(TYPE, bytes(range(32)))]
    assert buffer.head == 256 + 40


def test_full_ring_refuses_and_recovers() -> None:
    buffer, _ = ring(256)
    while buffer.offer(TYPE, bytes(24)):
        pass
    assert buffer.size == 256
    with pytest.raises(RingBufferFullError, match="256 bytes pending"):
        buffer.write(TYPE, b"")
    assert buffer.try_claim(TYPE, 0) == INSUFFICIENT_CAPACITY
    assert len(buffer.poll()) == 8
    assert buffer.offer(TYPE, bytes(24))


def test_bad_types_and_lengths_are_refused() -> None:
    buffer, _ = ring()
    assert buffer.max_message_length == 128
    for kind, length in ((0, 1), (-1, 1), (1, 129)):
        with pytest.raises(ValueError, match=r"expected (more than 0|at most)"):
            buffer.offer(kind, bytes(length))
    assert buffer.offer(1, bytes(128))
    for length in (TRAILER, TRAILER + 1000, 10):
        with pytest.raises(ForeignDirectoryError):
            ManyToOneRingBuffer(bytearray(length))


def test_claim_commit_and_abort() -> None:
    buffer, _ = ring()
    first, second, third = (buffer.try_claim(TYPE + index, 10) for index in range(3))
    buffer.claimed(third)[:] = b"third mess"
    buffer.commit(third)
    assert buffer.poll() == []  # the first claim is still open
    buffer.abort(first)
    assert buffer.poll() == []
    buffer.claimed(second)[:] = b"second ...".ljust(10)
    buffer.commit(second)
    assert buffer.poll() == [(TYPE + 1, b"second ..."), (TYPE + 2, b"third mess")]
    with pytest.raises(ValueError, match="expected a claimed one"):
        buffer.commit(second)


def test_unblock_pads_a_dead_claim() -> None:
    buffer, _ = ring()
    buffer.try_claim(TYPE, 20)
    buffer.write(TYPE, b"after")
    assert buffer.poll() == []
    assert buffer.unblock()
    assert buffer.poll() == [(TYPE, b"after")]
    assert not buffer.unblock()


def test_unblock_pads_a_hole_whose_writer_died_before_its_first_store() -> None:
    buffer, memory = ring()
    index = buffer.try_claim(TYPE, 20)
    memory[index - HEADER : index] = bytes(HEADER)  # as if the claim's header had never been written
    assert not buffer.unblock()  # nothing behind it yet: it may still come
    buffer.write(TYPE, b"after")
    assert buffer.unblock()
    assert buffer.poll() == [(TYPE, b"after")]


def test_unblock_leaves_committed_records_alone() -> None:
    buffer, _ = ring()
    assert not buffer.unblock()
    buffer.write(TYPE, b"x")
    assert not buffer.unblock()
    assert buffer.poll() == [(TYPE, b"x")]


def test_damaged_record_does_not_take_the_reader_with_it() -> None:
    buffer, memory = ring(256)
    buffer.write(TYPE, b"good")
    index = buffer.try_claim(TYPE, 8)
    memory[index - HEADER : index - 4] = (100_000).to_bytes(4, "little")
    assert buffer.poll() == [(TYPE, b"good")]
    assert buffer.size == 0
    buffer.write(TYPE, b"next")
    assert buffer.poll() == [(TYPE, b"next")]


def test_correlation_ids_and_heartbeat() -> None:
    buffer, _ = ring()
    assert [buffer.next_correlation_id() for _ in range(3)] == [0, 1, 2]
    buffer.consumer_heartbeat_ms = -1
    assert buffer.consumer_heartbeat_ms == -1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=32), st.integers(1, 6)), max_size=200))
def test_agrees_with_a_queue(steps: list[bytes | int]) -> None:
    buffer, memory = ring(256)
    queue: deque[tuple[int, bytes]] = deque()
    for number, step in enumerate(steps, 1):
        if isinstance(step, int):
            got = buffer.poll(step)
            assert got == [queue.popleft() for _ in range(min(step, len(queue)))]
        elif buffer.offer(number, step):
            queue.append((number, step))
        else:
            assert buffer.size + 8 + len(step) + 7 + 40 > 256  # no room, or none before a wrap
    assert buffer.poll(1000) == list(queue)
    assert bytes(memory[:256]) == bytes(256)


def consume(buffer: ManyToOneRingBuffer, writers: int, count: int) -> None:
    """Read until each writer's `count` numbers came, in its order."""
    expected = [0] * writers
    for _ in range(10_000_000):
        for kind, body in buffer.poll():
            number = int.from_bytes(body[:4], "little")
            assert number == expected[kind - 1]
            assert body[4:] == bytes([kind]) * (number % 50)
            expected[kind - 1] += 1
        if expected == [count] * writers:
            return
    raise AssertionError(expected)


def produce(buffer: ManyToOneRingBuffer, kind: int, count: int) -> None:
    for number in range(count):
        while not buffer.offer(kind, number.to_bytes(4, "little") + bytes([kind]) * (number % 50)):
            pass


@pytest.mark.threads
def test_threads_write_at_once() -> None:
    buffer, _ = ring(4096)
    threads = [threading.Thread(target=produce, args=(buffer, kind, 3000)) for kind in (1, 2, 3)]
    for thread in threads:
        thread.start()
    consume(buffer, 3, 3000)
    for thread in threads:
        thread.join()


def test_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ring"
    buffer = ManyToOneRingBuffer(Region.create_file(path, 4096 + TRAILER, False))
    script = (
        "import sys\n"
        "from aerowire.ipc.ring_buffer import ManyToOneRingBuffer\n"
        "from aerowire.memory.region import Region\n"
        "buffer = ManyToOneRingBuffer(Region.map_file(sys.argv[1]))\n"
        "kind = int(sys.argv[2])\n"
        "for number in range(20000):\n"
        "    while not buffer.offer(kind, number.to_bytes(4, 'little') + bytes([kind]) * (number % 50)):\n"
        "        pass\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, str(path), str(kind)]) for kind in (1, 2)]
    try:
        consume(buffer, 2, 20_000)
    finally:
        for writer in writers:
            writer.kill() if writer.poll() is None and sys.exc_info()[0] else writer.wait(30)
