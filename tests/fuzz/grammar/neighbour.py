"""A process beside driver and client that writes into what they share: python -m tests.fuzz.grammar.neighbour --seed N [--episodes N].

It changes positions among the counters, and metadata, frame headers and payload of logs, while hostile datagrams arrive. The streams that
it touches may end or go wrong; driver and client live, no cycle takes long, and the streams that it leaves alone arrive whole.
"""

from __future__ import annotations

import argparse
import contextlib
import mmap
import random
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from aerowire.base.errors import AerowireError
from aerowire.codecs.flyweights.cnc import CounterValueDecoder
from aerowire.codecs.flyweights.logbuffer import LogMetadataDecoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.accepted.generator import AcceptedGenerator
from tests.fuzz.grammar.episode import LONG_PAUSE_NS, Episode
from tests.fuzz.grammar.polls import OracleError
from tests.fuzz.grammar.world import MS, OTHER_STREAM, OWN_STREAM

STEPS = 1_200
STEPS_PER_CYCLE = 4
# Thread time of one cycle of everybody, on a machine that does much else.
CYCLE_LIMIT_S = 0.5
PATIENCE_CYCLES = 2_000
TERM = 65_536
POSITIONS = (2**63 - 1, -(2**63), -1, 2**62, 2**31 - 1, -(2**31), 0, 1, 5, 31, 32, TERM, 3 * TERM, 1 << 40, -32)
STEPS_OF_POSITIONS = (-64, -32, -1, 1, 5, 32, 64, 4096, TERM, 1 << 20, 1 << 31)
FRAME_LENGTHS = (31, 1, -32, 2**31 - 1, -(2**31), 0x40000000, TERM, 64, -64, 0)
LEFT_ALONE = (CounterType.SYSTEM, CounterType.CLIENT_HEARTBEAT)


class Neighbour:
    """Changes counters and logs, except those of the bystanders."""

    def __init__(self, episode: Episode, directory: Path, dice: random.Random) -> None:
        self._counters = episode.counters
        self._values = episode.cnc.counters_values_buffer
        self._directory = directory
        self._dice = dice
        own = {bystander.registration_id for bystander in episode.bystanders}
        sessions = {bystander.session_id for bystander in episode.bystanders}
        own |= {correlation for (_, correlation), image in episode.announced.items() if image.session_id in sessions}
        self._spared = {f"{number}.logbuffer" for number in own}
        self._maps: dict[Path, mmap.mmap] = {}
        self.writes = 0

    def close(self) -> None:
        """Unmap the logs."""
        for mapped in self._maps.values():
            mapped.close()

    def write(self) -> None:
        """Change one thing."""
        if self._dice.random() < 0.6:
            self._change_counter()
        else:
            self._change_log()

    def _change_counter(self) -> None:
        bystanders = [f" {stream} " for stream in (OWN_STREAM, OTHER_STREAM)]
        found = [
            counter
            for counter in self._counters.for_each()
            if counter.type_id not in LEFT_ALONE and not any(name in counter.label for name in bystanders)
        ]
        if not found:
            return
        counter = self._dice.choice(found)
        value = self._dice.choice(
            (
                self._dice.choice(POSITIONS),
                counter.value + self._dice.choice(STEPS_OF_POSITIONS),
                counter.value ^ 1 << self._dice.randrange(63),
            )
        )
        struct.pack_into("<Q", self._values, counter.counter_id * CounterValueDecoder.ENCODED_LENGTH, value & 2**64 - 1)
        self.writes += 1

    def _change_log(self) -> None:
        paths = [path for path in sorted(self._directory.glob("*/*.logbuffer")) if path.name not in self._spared]
        if not paths:
            return
        path = self._dice.choice(paths)
        if path not in self._maps:
            with path.open("r+b") as file:
                self._maps[path] = mmap.mmap(file.fileno(), 0)
        log = self._maps[path]
        place = self._dice.randrange(3)
        if place == 0:
            at = len(log) - LogMetadataDecoder.ENCODED_LENGTH + self._dice.randrange(0, 512, 8)
        elif place == 1:
            at = TERM * self._dice.randrange(3) + self._dice.randrange(0, 2048, 8)
        else:
            at = self._dice.randrange(0, 3 * TERM, 32)
        changed = struct.pack("<q", self._dice.choice(POSITIONS))
        if self._dice.random() < 0.5:
            changed = struct.pack("<i", self._dice.choice(FRAME_LENGTHS)) + self._dice.randbytes(4)
        log[at : at + 8] = changed
        self.writes += 1


def run_episode(seed: int, number: int) -> str:
    """Run one episode; return what was done. Raises OracleError when something does not hold."""
    name = f"{seed}-{number}"
    with tempfile.TemporaryDirectory(prefix="aw-neighbour-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as scratch:
        directory = Path(scratch) / "driver"
        episode = Episode(directory, seed * 1_000_003 + number)
        generator = AcceptedGenerator(name, episode.targets, long_pause_ns=LONG_PAUSE_NS)
        episode.trust_nothing()
        neighbour = Neighbour(episode, directory, random.Random(name))
        longest = 0.0
        refused = 0
        try:
            for step, _ in zip(generator, range(STEPS), strict=False):
                episode.world.send(step)
                neighbour.write()
                if neighbour.writes % STEPS_PER_CYCLE == 0:
                    begin = time.thread_time()
                    try:
                        episode.cycle(neighbour.writes // STEPS_PER_CYCLE)
                    except AerowireError:
                        refused += 1
                    longest = max(longest, time.thread_time() - begin)
            check_bystanders(episode)
        finally:
            neighbour.close()
            with contextlib.suppress(AerowireError):
                episode.close()
    if longest > CYCLE_LIMIT_S:
        raise OracleError(f"a cycle took {longest:.3f} s")
    if not neighbour.writes:
        raise OracleError("nothing was written")
    return f"{neighbour.writes} writes, {refused} cycles with errors, longest {longest * 1e3:.0f} ms"


def check_bystanders(episode: Episode) -> None:
    """Let the streams of others go on until they are whole."""
    goals = [bystander.sent + 50 for bystander in episode.bystanders]
    for _ in range(PATIENCE_CYCLES):
        episode.world.advance(5 * MS)
        for bystander, goal in zip(episode.bystanders, goals, strict=True):
            if bystander.sent < goal:
                bystander.work()
            else:
                bystander.take()
        if all(bystander.received == bystander.sent >= goal for bystander, goal in zip(episode.bystanders, goals, strict=True)):
            return
    raise OracleError(f"streams of others: {[bystander.received for bystander in episode.bystanders]} of {goals} messages arrived")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Let a neighbour write into counters and logs of a driver and a client in memory.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--episodes", type=int, default=10)
    arguments = parser.parse_args(argv)
    for number in range(arguments.episodes):
        print(f"seed {arguments.seed}, episode {number}: ", end="", flush=True)
        print(run_episode(arguments.seed, number), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
