"""Several processes append to one log while this one reads and cleans it."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aerowire.ipc.counters import CountersManager
from aerowire.logbuffer.concurrent_appender import ConcurrentAppender
from aerowire.logbuffer.log import LogBuffers
from aerowire.logbuffer.rebuild import clean
from aerowire.logbuffer.scan import frames
from aerowire.memory.region import Region
from tests.support.waiting import wait_until

TERM = 65_536
COUNT = 5_000
DEADLINE_S = 20

WRITER = """
import sys
from aerowire.ipc.counters import CountersReader
from aerowire.logbuffer.concurrent_appender import ConcurrentAppender
from aerowire.logbuffer.log import LogBuffers
from aerowire.memory.region import Region
log = LogBuffers.map(sys.argv[1])
counters = memoryview(Region.map_file(sys.argv[2]))
appender = ConcurrentAppender(log, CountersReader(counters[:512], counters[512:640]), 0, 1, 2)
writer, count = int(sys.argv[3]), int(sys.argv[4])
def message(number):
    return bytes([writer]) + number.to_bytes(4, "little") + bytes([number & 0xFF]) * (number * 7 % 3000)
number = 0
while number < count:
    if number % 3:
        sent = int(appender.append(message(number)) > 0)
    else:
        sent = appender.append_many([message(number + n) for n in range(min(9, count - number))])[1]
    number += sent
"""


class Reader:
    """Follows the log from position 0, puts fragments together, checks, cleans, and moves the limit."""

    def __init__(self, log: LogBuffers, counters: CountersManager, writers: int) -> None:
        self.log, self.counters = log, counters
        self.terms = [log.term_view(index) for index in range(3)]
        self.next = [0] * writers
        self.position = 0
        self.partial = b""

    def poll(self) -> int:
        term = self.terms[self.position // TERM % 3]
        offset = self.position % TERM
        found = frames(term, offset, TERM)
        for at, length, is_padding in found:
            if not is_padding:
                self.on_fragment(term[at + 5], bytes(term[at + 32 : at + length]))
        if found:
            end = found[-1][0] + -(-found[-1][1] // 32) * 32
            clean(term, offset, end - offset)
            self.position += end - offset
            self.counters.set_value(0, self.position + TERM // 2)
        return len(found)

    def on_fragment(self, flags: int, payload: bytes) -> None:
        assert (flags & 0x80 != 0) == (self.partial == b"")
        self.partial += payload
        if flags & 0x40:
            message, self.partial = self.partial, b""
            number = int.from_bytes(message[1:5], "little")
            assert number == self.next[message[0]]
            assert message[5:] == bytes([number & 0xFF]) * (number * 7 % 3000)
            self.next[message[0]] += 1


def make(directory: Path) -> tuple[LogBuffers, Path, Path, CountersManager]:
    path, limits = directory / "log", directory / "counters"
    log = LogBuffers.create(
        path, term_length=TERM, mtu_length=1408, initial_term_id=(1 << 31) - 2, session_id=1, stream_id=2, correlation_id=3
    )
    memory = memoryview(Region.create_file(limits, 4096))
    counters = CountersManager(memory[:512], memory[512:640])
    counters.allocate("pub-lmt")
    counters.set_value(0, TERM // 2)
    log.connected = True
    return log, path, limits, counters


def test_processes_append_at_once(tmp_path: Path) -> None:
    log, path, limits, counters = make(tmp_path)
    reader = Reader(log, counters, 2)
    command = [sys.executable, "-c", WRITER, str(path), str(limits)]
    writers = [subprocess.Popen([*command, str(number), str(COUNT)]) for number in range(2)]
    try:
        wait_until(lambda: reader.next == [COUNT, COUNT], lambda: reader.next, work=reader.poll)
        assert [writer.wait(10) for writer in writers] == [0, 0]
    finally:
        for writer in writers:
            if writer.poll() is None:
                writer.kill()
    assert reader.position == log.tail_position


@pytest.mark.threads
def test_threads_append_at_once(tmp_path: Path) -> None:
    log, _, _, counters = make(tmp_path)
    reader = Reader(log, counters, 3)
    appender = ConcurrentAppender(log, counters, 0, 1, 2)

    def write(writer: int) -> None:
        number = 0
        while number < COUNT // 10:
            message = bytes([writer]) + number.to_bytes(4, "little") + bytes([number & 0xFF]) * (number * 7 % 3000)
            number += appender.append(message) > 0

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: reader.next == [COUNT // 10] * 3, lambda: reader.next, work=reader.poll)
