"""How many simulated seconds a second of one core is worth: three hosts, a driver and a client each, in several worlds.

    python -m benchmarks.simulation
    python -m benchmarks.simulation idle messages --seconds 60 --profile

Each client publishes to the next host. Core time is that of this process; the best of some runs is shown, and with --profile where the time
of another run goes.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.process import Deadline, Process, Work
from aerowire.simulation.world import SimulatedWorld
from tests.support.stream_client import StreamClient

MS, SECOND = 1_000_000, 1_000_000_000
HOSTS = 3
OPTIONS: dict[str, Any] = {"environ": {}, "term_buffer_length": "64k"}
MESSAGE = bytes(100)
RUNS = 3
# Connections are made before time is measured.
SETTLING_NS = 3 * SECOND


@dataclass(frozen=True, slots=True)
class Case:
    """A world to measure: messages a second of all clients together, faults of all links, and what it has to reach."""

    what: str
    has_clients: bool = True
    rate: int = 0
    faults: dict[str, Any] = field(default_factory=dict)
    bar: float | None = None


CASES = {
    "drivers": Case("three drivers without clients", has_clients=False),
    "idle": Case("idle streams", bar=20.0),
    "messages": Case("1,000 messages a second, 5 % loss", rate=1_000, faults={"loss": 0.05}, bar=5.0),
    "rough": Case(
        "1,000 messages a second, 5 % loss, replay and reordering, delays of 1 ms on average",
        rate=1_000,
        faults={"loss": 0.05, "replay": 0.05, "reorder": 0.05, "jitter_ns": MS},
    ),
    "worst": Case(
        "100 messages a second, 30 % loss, 50 % replay, delays of 50 ms on average",
        rate=100,
        faults={"loss": 0.3, "replay": 0.5, "jitter_ns": 50 * MS, "queue_length": 20},
    ),
}


class PacedClient(StreamClient):
    """Sends a message each interval."""

    def __init__(self, host: SimulatedHost, interval_ns: int, phase_ns: int) -> None:
        self._interval_ns = interval_ns
        self._due_ns = host.clock.now_ns() + SETTLING_NS + phase_ns if interval_ns else (1 << 63) - 1
        super().__init__(host, next_deadline_ns=lambda: self._due_ns)

    def work_on_streams(self) -> int:
        now_ns = self.host.clock.now_ns()
        due = 0
        while self._due_ns <= now_ns:
            self._due_ns += self._interval_ns
            due += 1
        if due:
            self.send([MESSAGE] * due)
        return due + super().work_on_streams()


class Measured:
    """A world that is ready to be measured."""

    def __init__(self, case: Case, seed: int) -> None:
        self.world = SimulatedWorld(seed=seed)
        hosts = [self.world.add_host(f"10.0.0.{number}", **OPTIONS) for number in range(1, HOSTS + 1)]
        interval_ns = HOSTS * SECOND // case.rate if case.rate else 0
        self.clients: list[PacedClient] = []
        if case.has_clients:
            self.clients = [PacedClient(host, interval_ns, number * interval_ns // HOSTS) for number, host in enumerate(hosts)]
            for host, client in zip(hosts, self.clients, strict=True):
                client.subscribe(f"aeron:udp?endpoint={host.address}:40456")
            for host, client in zip(hosts[1:] + hosts[:1], self.clients, strict=True):
                client.publish(f"aeron:udp?endpoint={host.address}:40456")
        self.world.run(SETTLING_NS)
        self.world.network.set_faults(**case.faults)

    def turns(self) -> int:
        """Return how many turns processes have had."""
        return sum(process.turns for host in self.world.hosts for process in host.processes)


@contextmanager
def measured(case: Case, seed: int) -> Iterator[Measured]:
    """Make a world, and stop its drivers after the block."""
    made = Measured(case, seed)
    gc.collect()
    yield made
    made.world.close()


def rate(case: Case, seconds: int, seed: int) -> dict[str, float]:
    """Run a world; return simulated seconds per core second, and what happened in each simulated second."""
    with measured(case, seed) as made:
        world, counts = made.world, made.world.network.counts
        turns, steps, taken = made.turns(), world.steps, sum(len(client.received) for client in made.clients)
        start = time.process_time()
        world.run(seconds * SECOND)
        core_s = time.process_time() - start
        now = world.network.counts
        return {
            "rate": seconds / core_s,
            "steps": (world.steps - steps) / seconds,
            "turns": (made.turns() - turns) / seconds,
            "packets": (now.sent - counts.sent) / seconds,
            "messages": (sum(len(client.received) for client in made.clients) - taken) / seconds,
            "us per turn": core_s * 1e6 / max(made.turns() - turns, 1),
        }


def profile(case: Case, seconds: int, seed: int) -> dict[str, tuple[int, float]]:
    """Run a world with a stopwatch around each call of a process; return calls and seconds by what they were for."""
    spent: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])

    def timed(what: str, call: Callable[[], int]) -> Callable[[], int]:
        entry = spent[what]

        def run() -> int:
            start = time.perf_counter()
            result = call()
            entry[0] += 1
            entry[1] += time.perf_counter() - start
            return result

        return run

    def start_timed(process: Process, work: Work, deadline: Deadline | None = None, **options: Any) -> None:
        kind = process.name.partition(" ")[0]
        start(process, timed(f"cycles of a {kind}", work), deadline and timed(f"deadlines of a {kind}", deadline), **options)

    start = Process.start
    with patch.object(Process, "start", start_timed), measured(case, seed) as made:
        for entry in spent.values():
            entry[:] = 0, 0.0
        steps, begun = made.world.steps, time.perf_counter()
        made.world.run(seconds * SECOND)
        whole_s = time.perf_counter() - begun
        found = {what: (int(calls), spent_s) for what, (calls, spent_s) in spent.items()}
        rest_s = whole_s - sum(spent_s for _, spent_s in found.values())
        return {**found, "steps: arrivals, who is next, stopwatches": (made.world.steps - steps, rest_s)}


def main() -> int:
    """Measure the chosen worlds and print a line for each; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"worlds to measure (default: all of {', '.join(CASES)})")
    parser.add_argument("--seconds", type=int, default=20, help="simulated seconds of each run (default: 20)")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of which the best is shown (default: {RUNS})")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first run (default: 1)")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.cases if name not in CASES]:
        parser.error(f"no such world: expected {', '.join(CASES)}; got {', '.join(unknown)}")
    missed = False
    for name in chosen.cases or CASES:
        case = CASES[name]
        best = max((rate(case, chosen.seconds, chosen.seed) for _ in range(chosen.runs)), key=lambda found: found["rate"])
        bar = "" if case.bar is None else f" (bar: {case.bar:g})"
        missed |= case.bar is not None and best["rate"] < case.bar
        details = ", ".join(f"{best[what]:,.0f} {what}" for what in ("steps", "turns", "packets", "messages"))
        print(
            f"{name:9} {best['rate']:8.1f} simulated s per core s{bar}; each: {details}; {best['us per turn']:.1f} us a turn  [{case.what}]"
        )
        if chosen.profile:
            for what, (calls, spent_s) in sorted(profile(case, chosen.seconds, chosen.seed).items(), key=lambda item: -item[1][1]):
                print(f"    {spent_s * 1e3 / chosen.seconds:8.2f} ms of a simulated second, {calls / chosen.seconds:10,.1f} times: {what}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
