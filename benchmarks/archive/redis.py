#!/usr/bin/env python3
"""Messages recorded by our archive beside entries added to a Redis stream, in one run.

    python -m benchmarks.archive.redis [--redis-server PATH] [--runs N] [--directory DIR]

Each side keeps messages of 1 KB in files of the same disk, with the same promise: the system has the data when it is acknowledged, and the
disk a little later (our sync level 0; Redis with appendfsync everysec and without snapshots). The publisher is this process, in Python:
`offer_many` into a recorded IPC stream of an archive in a process of its own, on a driver in a process of its own, until the position of
the recording has come to the end; XADD commands in pipelines of 1,000, each sent at once over a Unix socket, the next before the answers of
the one before are read. Messages and commands are made before the clock starts. Bar: at least 6 times as many messages a second. Returns 1
when it is missed, 2 without a redis-server (Debian: `apt install redis-server`).
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from aerowire.archive import AeronArchive
from benchmarks.archive.archives import END_LIMIT_S, STALL_LIMIT_S, record, running_archive, wait
from benchmarks.bars import judge, medians, scatter
from benchmarks.drivers import running_driver

BAR = 6.0
LENGTH = 1024
MESSAGES = {"redis": 100_000, "aerowire": 500_000}
PIPELINE = 1000
CHANNEL, STREAM = "aeron:ipc?term-length=64m", 1001
KEY = b"messages"


class Redis:
    """A connection to a Redis server."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(STALL_LIMIT_S)
        self._socket.connect(str(path))
        self._surplus = 0  # lines that came with those that were waited for

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def ask(self, *words: bytes) -> bytes:
        """Send one command; return its answer, which is a line."""
        self._socket.sendall(command(*words))
        return self._read(1).rstrip()

    def add(self, messages: int) -> float:
        """Add entries by pipelines and delete them; return how many a second were added."""
        pipeline = b"".join(command(b"XADD", KEY, b"*", b"message", bytes(LENGTH)) for _ in range(PIPELINE))
        lines = 2 * PIPELINE  # of each answer the length of the entry's id, and the id
        begin = time.perf_counter()
        for number in range(messages // PIPELINE):
            self._socket.sendall(pipeline)
            if number:
                self._read(lines)
        self._read(lines)
        seconds = time.perf_counter() - begin
        if (added := self.ask(b"XLEN", KEY)) != b":%d" % messages:
            raise RuntimeError(f"Redis has {added!r} of {messages} entries")
        self.ask(b"DEL", KEY)
        return messages / seconds

    def _read(self, lines: int) -> bytes:
        """Read so many lines; return the last that was received."""
        data = b""
        while self._surplus < lines:
            data = self._socket.recv(1 << 20)
            if not data:
                raise RuntimeError("Redis has closed the connection")
            self._surplus += data.count(b"\n")
        self._surplus -= lines
        return data


def command(*words: bytes) -> bytes:
    """Return a command as it is sent: the number of its words, then each with its length."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


@contextmanager
def running_redis(server: str, directory: Path) -> Iterator[Redis]:
    """Run a server whose files are in `directory`, and lend a connection."""
    path = directory / "socket"
    options = {"port": "0", "unixsocket": str(path), "dir": str(directory), "save": "", "appendonly": "yes", "appendfsync": "everysec"}
    texts = [text for name, value in options.items() for text in (f"--{name}", value)]
    process = subprocess.Popen([server, *texts], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        wait(lambda: path.exists() or process.poll() is not None, "the socket of Redis")
        redis = Redis(path)
        try:
            wait(lambda: redis.ask(b"PING") == b"+PONG", "an answer of Redis")
            yield redis
        finally:
            redis.close()
    finally:
        process.terminate()
        process.wait(END_LIMIT_S)


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redis-server", metavar="PATH", default=shutil.which("redis-server"), help="the server (default: that on PATH)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each side of which the median is taken (default: 5)")
    parser.add_argument("--directory", default=None, help="a place on the disk that is measured")
    given = parser.parse_args()
    if given.redis_server is None or shutil.which(given.redis_server) is None:
        print(f"there is no redis-server {given.redis_server or 'on PATH'}; install it, or give its --redis-server PATH", file=sys.stderr)
        return 2
    rates: dict[str, list[float]] = {"redis": [], "aerowire": []}
    with ExitStack() as stack:
        aeron_dir = stack.enter_context(running_driver("aerowire", None, threading="SHARED", idle="backoff"))
        archive = stack.enter_context(stack.enter_context(running_archive(None, "aerowire", aeron_dir, given.directory)).connect())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="redis-bench-", dir=given.directory))
        redis = stack.enter_context(running_redis(given.redis_server, Path(folder)))
        for run in range(given.runs + 1):
            measured = {"redis": redis.add(MESSAGES["redis"]), "aerowire": recorded(archive, MESSAGES["aerowire"])}
            for side, rate in measured.items():
                if run:  # the first only warms up
                    rates[side].append(rate)
    middle = medians(rates)
    text = ", ".join(f"{side} {middle[side] / 1e6:.3f} M/s ({scatter(rates[side])})" for side in rates)
    return 0 if judge(f"messages of 1 KB: {text}", middle["aerowire"] / middle["redis"], least=BAR) else 1


def recorded(archive: AeronArchive, messages: int) -> float:
    """Record messages and delete the recording; return how many a second were recorded."""
    found = record(archive, CHANNEL, STREAM, length=LENGTH, messages=messages)
    archive.purge_recording(found.recording_id)
    return messages / found.seconds


if __name__ == "__main__":
    sys.exit(main())
