"""Latency and throughput, absolute and against pyzmq in the same run, by the scripts under benchmarks/.

At small size only a tenth of the ratios to pyzmq is held: tests share their machine with other work, and say that the scripts work.
"""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from tests.soak.bars import Part, Size
from tests.support.processes import free_port

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
RUNS = {Size.FULL: 5, Size.SMALL: 1}
# Beside other work a round trip of processes that spin may take three turns of the scheduler, and as much processor time.
ROUND_TRIPS = {Size.FULL: 200_000, Size.SMALL: 1_000}
OTHER_ROUND_TRIPS = {Size.FULL: 20_000, Size.SMALL: 1_000}  # of pyzmq, and of bare sockets
WARMUP = {Size.FULL: 20_000, Size.SMALL: 500}
MESSAGES = {Size.FULL: 20_000_000, Size.SMALL: 1_000_000}
# Of a datagram with 32 bytes of payload.
FRAME_LENGTH = 64
# Of every bar, what must be reached at this size.
SHARE = {Size.FULL: 1.0, Size.SMALL: 0.1}

IPC_P50_US = 1.2
# A machine slower than the one of the absolute figure is held to what its kernel takes for the same two datagrams.
UDP_P50_US, UDP_P50_RATIO, UDP_P99_US = 8.0, 1.35, 100.0
SINGLE_PER_S, BATCH_PER_S = 12e6, 60e6
LATENCY_RATIO, SINGLE_RATIO, BATCH_RATIO = 20.0, 4.0, 20.0


def measure(script: str, *arguments: object) -> dict[str, Any]:
    """Run one script under benchmarks/ and return the JSON object it prints."""
    command = [sys.executable, str(BENCHMARKS / f"{script}.py"), "--json", "--length", "32", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert isinstance(found, dict)
    return found


def median(size: Size, key: str, script: str, *arguments: object) -> float:
    return statistics.median(float(measure(script, *arguments)[key]) for _ in range(RUNS[size]))


def udp_channels() -> list[str]:
    """Return the arguments for two UDP channels on ports that are free."""
    there, back = (f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2))
    return ["--channel", there, "--reply-channel", back]


def bare_round_trip_us(count: int) -> float:
    """Return the median round trip of a datagram between two sockets of one thread, without Aeron."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
        for one in (here, there):
            one.bind(("127.0.0.1", 0))
        here.connect(there.getsockname())
        there.connect(here.getsockname())
        frame = bytearray(FRAME_LENGTH)
        samples = []
        for _ in range(count):
            started = time.perf_counter_ns()
            for sender, receiver in ((here, there), (there, here)):
                sender.send(frame)
                receiver.recv_into(frame)
            samples.append(time.perf_counter_ns() - started)
        return statistics.median(samples) / 1000


def latency(size: Size, scratch: Path) -> str:
    del scratch
    warmup = ("--warmup", WARMUP[size])
    trips = ("--messages", ROUND_TRIPS[size], *warmup)
    ipc = median(size, "p50_us", "pingpong", *trips, "--channel", "aeron:ipc")
    zmq = median(size, "p50_us", "pingpong", "--messages", OTHER_ROUND_TRIPS[size], *warmup, "--peer", "pyzmq")
    udp, bare = [], []
    for _ in range(RUNS[size]):
        bare.append(bare_round_trip_us(OTHER_ROUND_TRIPS[size]))
        udp.append(measure("pingpong", *trips, "--one-thread", *udp_channels()))
    udp_p50, udp_p99 = (statistics.median(float(one[key]) for one in udp) for key in ("p50_us", "p99_us"))
    bare_p50 = statistics.median(bare)
    said = (
        f"p50 IPC {ipc:.2f} us, UDP {udp_p50:.2f} us (p99 {udp_p99:.1f}), {udp_p50 / bare_p50:.2f} times a bare socket's {bare_p50:.2f}, "
        f"pyzmq {zmq:.1f} us, {zmq / ipc:.1f} times"
    )
    assert zmq / ipc >= LATENCY_RATIO * SHARE[size], said
    if size is Size.FULL:
        assert ipc <= IPC_P50_US, said
        assert udp_p50 <= max(UDP_P50_US, UDP_P50_RATIO * bare_p50), said
        assert udp_p99 <= UDP_P99_US, said
    return said


def throughput(size: Size, scratch: Path) -> str:
    del scratch
    count = ("--messages", MESSAGES[size])
    # On the scripts' own channel: terms of 4 MiB, which stay in the caches that the cores share.
    single = median(size, "msgs_per_s", "throughput", *count, "--mode", "single")
    batch = median(size, "msgs_per_s", "throughput", *count, "--mode", "batch")
    zmq = median(size, "msgs_per_s", "throughput", "--messages", MESSAGES[size] // 20, "--peer", "pyzmq")
    ratios = f"{single / zmq:.1f} and {batch / zmq:.1f} times"
    said = f"single {single / 1e6:.1f} M/s, batch {batch / 1e6:.1f} M/s, pyzmq {zmq / 1e6:.2f} M/s: {ratios}"
    assert single / zmq >= SINGLE_RATIO * SHARE[size], said
    assert batch / zmq >= BATCH_RATIO * SHARE[size], said
    if size is Size.FULL:
        assert single >= SINGLE_PER_S, said
        assert batch >= BATCH_PER_S, said
    return said


def parts(size: Size) -> list[Part]:
    return [Part("latency", 0, partial(latency, size)), Part("throughput", 0, partial(throughput, size))]
