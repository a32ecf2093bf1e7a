"""Latency and throughput, measured the same way by the commands `aerowire ping` and `throughput` and by the scripts under benchmarks/.

A measurement has two ends: the measuring one runs here, the other in a process of its own that is this module run as a script (or, for a
one-thread ping-pong, here as well). The plan says everything and is handed over as JSON. How a peer library does it is in
measure_aerowire.py and measure_pyzmq.py.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import IO, Protocol

from aerowire.base.errors import AerowireError, ConfigurationError
from aerowire.process.interruption import deferred

SINGLE, BATCH = "single", "batch"
PEERS = ("aerowire", "pyzmq")
READY = "ready"
PERCENTILES = {
    "p50_us": 0.50,
    "p90_us": 0.90,
    "p99_us": 0.99,
    "p99_9_us": 0.999,
    "p99_99_us": 0.9999,
    "p99_999_us": 0.99999,
    "max_us": 1.0,
}
# What the other end says before it ends early: its error, for the measuring end to tell.
ERROR_MARK = "!"
# Messages of an offer_many: enough that the call itself does not count, few enough for the nearest caches.
BATCH_COUNT = 1024
# A driver that datagrams pass through, and the two ends.
SPINNERS = 3
# A rate is of the messages that come after the first poll that has any; were it of fewer, it would be of that poll's luck.
TIMED_SHARE_MIN = 0.5
# An end that waits this long for the other gives up.
STALL_LIMIT_S = 20.0
# Empty polls between looks at the clock: about 10 ms of them.
SPINS_PER_CHECK = 1 << 18


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to measure. Durations are in the messages; `reply_channel` is where a ping-pong's answers go."""

    channel: str
    reply_channel: str
    length: int
    messages: int
    warmup: int
    mode: str = SINGLE
    peer: str = "aerowire"
    aeron_dir: str = ""
    stream_id: int = 1001
    batch_count: int = BATCH_COUNT
    one_thread: bool = False
    # Messages a second that are due, whether or not the ones before have come back; 0: each waits for the one before.
    rate: float = 0.0
    # The other end is a process that somebody else started.
    is_far: bool = False
    # This end is a child, and tells its parent when it is there.
    tells_ready: bool = False

    @property
    def reply_stream_id(self) -> int:
        """Stream of the answers."""
        return self.stream_id + 1

    @property
    def is_crowded(self) -> bool:
        """Whether there are more spinning loops than cores, so that each should give way: else every message waits for the scheduler."""
        return self.channel.startswith("aeron:udp") and not self.one_thread and len(os.sched_getaffinity(0)) < SPINNERS

    def check(self) -> None:
        """Raise ConfigurationError for a plan that cannot be carried out."""
        figures = (("--length", self.length, 0), ("--messages", self.messages, 1), ("--warmup", self.warmup, 0))
        for argument, value, low in (*figures, ("--batch", self.batch_count, 1), ("--rate", self.rate, 0)):
            if not low <= value < math.inf:
                raise ConfigurationError("a figure is out of range", where=argument, expected=f"at least {low}", actual=value)
        if self.peer != PEERS[0] and (self.rate or self.is_far):
            what = "a library to compare with is not measured that way"
            raise ConfigurationError(what, where="--peer", expected=PEERS[0], actual=self.peer)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan that `to_json` made the text of."""
        return cls(**json.loads(text))

    def to_json(self) -> str:
        """Return the plan as a line of JSON."""
        return json.dumps(asdict(self))


class Peer(Protocol):
    """What a library's module offers: each end of each measurement as a function of the plan."""

    def ping(self, plan: Plan) -> array[int]:
        """Send a message and wait for its answer, or send at the plan's rate, `messages` times; return the round trips in ns."""
        ...

    def pong(self, plan: Plan) -> None:
        """Say `ready(plan)`, then send back what arrives, until all has been answered."""
        ...

    def publish(self, plan: Plan) -> None:
        """Send `messages` as fast as they are taken."""
        ...

    def receive(self, plan: Plan) -> float:
        """Say `ready(plan)`, then take `messages` in; return how many a second came after the first."""
        ...


def peer_of(plan: Plan) -> Peer:
    """Return the module that measures the plan's library."""
    if plan.peer not in PEERS:
        raise ConfigurationError("there is no such peer", where="--peer", expected=" | ".join(PEERS), actual=repr(plan.peer))
    try:
        return importlib.import_module(f"aerowire.tools.measure.measure_{plan.peer}")
    except ImportError as error:
        raise AerowireError("a library to compare with is not installed", where=plan.peer, hint=f"pip install {plan.peer}") from error


def measure_latency(plan: Plan) -> dict[str, float]:
    """Run a ping-pong and return its percentiles in microseconds: p50_us, ..., max_us."""
    return percentiles(measure_round_trips(plan))


def measure_round_trips(plan: Plan) -> array[int]:
    """Run a ping-pong and return its round trips in ns, in the order of the messages."""
    plan.check()
    with _quiet(), contextlib.ExitStack() as stack:
        if not plan.one_thread and not plan.is_far:
            stack.enter_context(_other_end("pong", plan))
        return peer_of(plan).ping(plan)


def measure_throughput(plan: Plan) -> dict[str, float]:
    """Send messages from this process to another and return msgs_per_s, as the receiver saw them, and mb_per_s of payload."""
    plan.check()
    with _quiet(), _other_end("receive", plan) as other:
        peer_of(plan).publish(plan)
        rate = float(_read(other, "receive"))
    return _throughput(plan, rate)


def measure_receiving(plan: Plan) -> dict[str, float]:
    """Take in what another process sends, and return what `measure_throughput` does."""
    plan.check()
    with _quiet():
        return _throughput(plan, peer_of(plan).receive(plan))


def measure_publishing(plan: Plan) -> dict[str, float]:
    """Send to a process that takes in, and return what `measure_throughput` does, as the sender saw it."""
    plan.check()
    with _quiet():
        begin = time.perf_counter_ns()
        peer_of(plan).publish(plan)
        return _throughput(plan, plan.messages * 1e9 / (time.perf_counter_ns() - begin))


def _throughput(plan: Plan, rate: float) -> dict[str, float]:
    return {"msgs_per_s": rate, "mb_per_s": rate * plan.length / 1e6}


def percentiles(samples_ns: Sequence[int]) -> dict[str, float]:
    """Return percentiles of durations in ns, in microseconds: p50_us to p99_999_us, and max_us."""
    ordered = sorted(samples_ns)
    last = len(ordered) - 1
    return {name: ordered[round(last * share)] / 1000 for name, share in PERCENTILES.items()}


def ready(plan: Plan) -> None:
    """Tell the measuring process that this end is there."""
    if plan.tells_ready:
        print(READY, flush=True)


def stalled(what: str) -> AerowireError:
    """Return the error for an end that has waited too long."""
    return AerowireError("a measurement has come to a halt", where=what, expected=f"progress within {STALL_LIMIT_S:g} s")


def check_is_measured(timed: int, total: int) -> None:
    """Raise AerowireError when most messages were there with the first, and what came after it says nothing of how fast they come."""
    if timed < total * TIMED_SHARE_MIN:
        raise AerowireError(
            "too short to be measured",
            where="--messages",
            expected="most messages to arrive after the first ones",
            actual=f"{total - timed:,} of {total:,} at once",
            hint="give more --messages",
        )


class Watch:
    """Looks at the clock once in many empty polls, and raises when nothing has happened for too long."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._since = time.monotonic()
        self._position = -1

    def check(self) -> None:
        """Raise when the last `progress` is too long ago."""
        if time.monotonic() - self._since > STALL_LIMIT_S:
            raise stalled(self._what)

    def progress(self) -> None:
        """Start to count anew."""
        self._since = time.monotonic()

    def check_position(self, position: int) -> None:
        """Raise when the position has been the same for too long."""
        if position != self._position:
            self._position = position
            self.progress()
        self.check()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the garbage collector out of what is measured."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def _other_end(role: str, plan: Plan) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "aerowire.tools.measure.measure", role, replace(plan, tells_ready=True).to_json()]
    # A session of its own: Ctrl-C reaches the measuring end alone, which then ends this one.
    process: subprocess.Popen[str] | None = None
    try:
        with deferred():
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        if _read(process, role) != READY:
            raise AerowireError("the other end of a measurement did not start", where=role)
        yield process
        if process.wait(STALL_LIMIT_S):
            raise AerowireError("the other end of a measurement failed", where=role, actual=f"exit code {process.returncode}")
    finally:
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                stream.close()


def _read(process: subprocess.Popen[str], role: str) -> str:
    output: IO[str] | None = process.stdout
    assert output is not None
    line = output.readline().strip()
    if line.startswith(ERROR_MARK):
        raise AerowireError(line.removeprefix(ERROR_MARK))
    if not line:
        raise AerowireError("the other end of a measurement ended early", where=role, actual=f"exit code {process.wait(STALL_LIMIT_S)}")
    return line


def main(arguments: Sequence[str] | None = None) -> int:
    """Be the other end: `ROLE PLAN`."""
    role, text = sys.argv[1:] if arguments is None else arguments
    plan = Plan.from_json(text)
    peer = peer_of(plan)
    try:
        with _quiet():
            if role == "pong":
                peer.pong(plan)
            else:
                print(peer.receive(plan), flush=True)
    except AerowireError as error:
        print(f"{ERROR_MARK}{error}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
