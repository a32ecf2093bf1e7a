"""Child processes of tests that need several: our driver and peers, read line by line, and always ended.

Knows the commands' arguments; knows nothing of Java or of what a test should show.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.codecs.flyweights.cnc import CNC_NOT_READY, CncHeaderDecoder
from tests.support.waiting import rest

ROOT = Path(__file__).resolve().parents[2]
# On a machine that has much else to do, a virtual machine takes its time to start, and any process to end.
LIMIT_S = 120.0
STOP_S = 30.0
# Linux assigns ports from 32768 on to sockets that are bound without one, and the conformance suite takes some of 20000 to 32759.
PORTS = range(10_000, 20_000)
PORT_TRIES = 50
BLOCK_LENGTH, BLOCKS_MAX = 64, 8  # ports that a process claims at one time, and how often


class Process:
    """A child process whose standard output is read line by line and whose end is always seen to."""

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        self.name = name
        self.log = log
        with log.open("wb") as stderr:
            self.popen = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        self._buffer = b""
        self._outcomes: list[dict[str, Any]] = []  # read on the way to an event, and not asked for yet

    def line(self, timeout_s: float) -> str:
        """Return the next line of standard output; fail with what the process said when it ends or stays silent."""
        assert self.popen.stdout is not None
        deadline = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self.popen.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise AssertionError(f"{self.name} said nothing for {timeout_s:.0f} s\n{self.said()}")
                data = os.read(self.popen.stdout.fileno(), 65536)
                if not data:
                    raise AssertionError(f"{self.name} ended with {self.popen.wait()}\n{self.said()}")
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def result(self, timeout_s: float) -> dict[str, Any]:
        """Return the next line that is a JSON object."""
        deadline = time.monotonic() + timeout_s
        while not (line := self.line(deadline - time.monotonic())).startswith("{"):
            continue
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    def event(self, name: str, timeout_s: float) -> dict[str, Any]:
        """Return the next JSON object whose `event` is `name`, leaving out those before it; what a peer says of its run is kept."""
        deadline = time.monotonic() + timeout_s
        while (found := self.result(max(0.0, deadline - time.monotonic()))).get("event") != name:
            if "role" in found:
                self._outcomes.append(found)
        return found

    def outcome(self, role: str, timeout_s: float) -> dict[str, Any]:
        """Return what a peer of `role` says of its whole run, leaving out what it says before."""
        for index, kept in enumerate(self._outcomes):
            if kept.get("role") == role:
                return self._outcomes.pop(index)
        deadline = time.monotonic() + timeout_s
        while (found := self.result(max(0.0, deadline - time.monotonic()))).get("role") != role:
            continue
        return found

    def said(self) -> str:
        return f"{self._buffer.decode(errors='replace')}\n{self.log.read_text(errors='replace')[-4000:]}"

    def finish(self, timeout_s: float = LIMIT_S) -> int:
        """Close the child's standard input, which tells a peer that it may go, and return its exit code."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        return self.popen.wait(timeout_s)

    def stop(self) -> None:
        """Ask the child to end, and end it when it does not."""
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            if self.popen.poll() is not None:
                break
            self.popen.send_signal(signal_number)
            try:
                self.popen.wait(STOP_S)
            except subprocess.TimeoutExpired:
                continue
        for stream in (self.popen.stdin, self.popen.stdout):
            if stream is not None:
                stream.close()


def driver_command(directory: Path, properties: Mapping[str, str], *arguments: str) -> list[str]:
    """Return the command of our driver on `directory`."""
    options = {"aeron.dir": str(directory), **properties}
    return [sys.executable, "-m", "aerowire.tools.main", "driver", *(f"-D{name}={value}" for name, value in options.items()), *arguments]


def peer_command(role: str, arguments: Sequence[str]) -> list[str]:
    """Return the command of one of our peers, publisher or subscriber."""
    return [sys.executable, "-m", f"tests.support.peers.{role}", *arguments]


def peer_arguments(directory: Path, arguments: Mapping[str, object]) -> list[str]:
    """Return a peer's arguments as it reads them: name=value, with hyphens."""
    return [f"{name.replace('_', '-')}={value}" for name, value in {"dir": directory, **arguments}.items()]


class Workshop:
    """A folder in shared memory and the processes that use it; everything it started ends with it."""

    def __init__(self, scratch: Path, memory: Path) -> None:
        self.scratch = scratch
        self.memory = memory
        self.processes: list[Process] = []

    def start(self, name: str, command: list[str]) -> Process:
        process = Process(name, command, self.scratch / f"{len(self.processes)}-{name.replace(' ', '-')}.log")
        self.processes.append(process)
        return process

    def directory(self) -> Path:
        """Return a fresh Aeron directory's path."""
        return self.memory / f"driver-{len(self.processes)}"

    def driver(self, directory: Path, properties: Mapping[str, str], *arguments: str) -> Process:
        return self.start("aerowire driver", driver_command(directory, properties, *arguments))

    def peer(self, role: str, directory: Path, /, **arguments: object) -> Process:
        return self.start(f"aerowire {role}", peer_command(role, peer_arguments(directory, arguments)))

    def close(self) -> None:
        for process in reversed(self.processes):
            process.stop()
        shutil.rmtree(self.memory, ignore_errors=True)


@contextmanager
def open_workshop(scratch: Path) -> Iterator[Workshop]:
    shared = Path("/dev/shm")
    workshop = Workshop(scratch, Path(tempfile.mkdtemp(prefix="aw-test-", dir=shared if shared.is_dir() else None)))
    try:
        yield workshop
    finally:
        workshop.close()


def free_port() -> int:
    """Return a UDP port that is free on every interface, and that no other process of tests is given while this one lives."""
    for port in itertools.islice(_ports, PORT_TRIES):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
            probe.bind(("0.0.0.0", port))
            return port
    raise AssertionError(f"none of {PORT_TRIES} UDP ports of {PORTS} is free")


def _own_ports() -> Iterator[int]:
    """Yield the ports of blocks for each of which this process holds a name in the kernel's abstract namespace; then these again."""
    starts, claims = [], []
    for start in random.SystemRandom().sample(range(PORTS.start, PORTS.stop, BLOCK_LENGTH), len(PORTS) // BLOCK_LENGTH):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0aerowire-test-ports-{start}")
        except OSError:
            claim.close()
            continue
        claims.append(claim)
        starts.append(start)
        yield from range(start, start + BLOCK_LENGTH)
        if len(starts) == BLOCKS_MAX:
            break
    while starts:
        for start in starts:
            yield from range(start, start + BLOCK_LENGTH)


_ports = _own_ports()


def wait_for_driver(directory: Path, driver: Process, timeout_s: float = LIMIT_S) -> None:
    """Wait until the driver's directory can be used; fail with what the driver said when it ends instead."""
    deadline = time.monotonic() + timeout_s
    while not is_ready(directory, driver.popen.pid):
        if driver.popen.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"{driver.name} is not ready (exit code {driver.popen.poll()})\n{driver.said()}")
        rest()


def is_ready(directory: Path, pid: int) -> bool:
    """Return whether the directory is the driver's of process `pid`, not one's that was killed, and its files are complete."""
    try:
        with (directory / CNC_FILE_NAME).open("rb") as file:
            header = file.read(CncHeaderDecoder.ENCODED_LENGTH)
    except FileNotFoundError:
        return False
    decoder = CncHeaderDecoder(header.ljust(CncHeaderDecoder.ENCODED_LENGTH, b"\0"))
    return decoder.version != CNC_NOT_READY and decoder.pid == pid
