"""Run hostile sequences against driver and client in memory: python -m tests.fuzz.grammar.run [--seed N] [--count N] [--seconds S].

Episodes run in a child process, so that a crash or an endless poll of native code is a finding and not the end of the run. A finding is
minimised and saved as a file, which --replay runs again. On an instrumented build, run it with PYTHONPATH pointing to that tree.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aerowire.conformance.accepted.steps import Step, load, minimise, save, to_line

ROOT = Path(__file__).resolve().parents[3]
LENGTH = 20_000
# An episode takes seconds; instrumented builds and busy machines are slower.
SILENCE_S = 120.0
MINIMISE_TRIES = 120
WARM_UP_EPISODES = 10
GROWTH_KIB = 8_192
# What a child that has closed its output takes to end.
GIVE_UP_S = 5.0
# Exit status of a child in which something did not hold.
FOUND = 3


@dataclass(slots=True)
class Campaign:
    """What a run of many episodes was, and what it found."""

    seed: int
    datagrams: int = 0
    episodes: int = 0
    invalid: int = 0
    outside_window: int = 0
    images: int = 0
    fragments: int = 0
    bystander_messages: int = 0
    longest_poll_ms: float = 0.0
    seconds: float = 0.0
    growth_kib: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    poll_errors: Counter[str] = field(default_factory=Counter)
    finding: str = ""
    saved: Path | None = None

    @property
    def accepted_share(self) -> float:
        """The share of datagrams that were neither invalid nor outside a receive window, by the driver's counters."""
        return 1 - (self.invalid + self.outside_window) / max(self.datagrams, 1)

    def summary(self) -> str:
        """Return what was measured, in one line."""
        return (
            f"seed {self.seed}: {self.datagrams} datagrams in {self.episodes} episodes, {self.accepted_share:.1%} accepted, "
            f"{self.images} images, {self.fragments} fragments, {self.bystander_messages} messages of others, "
            f"longest poll {self.longest_poll_ms:.1f} ms, {self.datagrams / max(self.seconds, 1e-9):.0f}/s, {self.growth_kib:+d} KiB"
        )


def run_campaign(
    seed: int, count: int, *, length: int = LENGTH, seconds: float = 0.0, first: int = 0, save_to: Path | None = None
) -> Campaign:
    """Run episodes until `count` datagrams were sent, the time is over (0: no limit), or something was found."""
    campaign = Campaign(seed)
    begin = time.monotonic()
    length = min(length, count)
    child = _start(seed, "--first", str(first), "--count", str(count), "--length", str(length), "--seconds", str(seconds))
    memory: list[int] = []
    for line in _lines(child, SILENCE_S):
        entry = json.loads(line)
        memory.append(entry.pop("memory_kib"))
        _add(campaign, entry)
        if campaign.finding:
            break
    status = _end(child)
    campaign.seconds = time.monotonic() - begin
    if not campaign.finding and status != 0:
        campaign.finding = (
            f"the process ended with status {status}" if status != -signal.SIGKILL else f"no episode ended within {SILENCE_S:.0f} s"
        )
    if len(memory) > 2 * WARM_UP_EPISODES:
        campaign.growth_kib = memory[-1] - memory[WARM_UP_EPISODES]
        if not campaign.finding and campaign.growth_kib > GROWTH_KIB:
            campaign.finding = f"memory grew by {campaign.growth_kib} KiB in {campaign.episodes} episodes"
            return campaign
    if campaign.finding:
        campaign.saved = _save_finding(campaign, first + campaign.episodes, length, save_to)
    return campaign


def replay(path: Path, *, timeout_s: float = SILENCE_S) -> str:
    """Run a saved sequence in a child process; return what did not hold, or an empty text."""
    child = _start(0, "--replay-here", str(path))
    found = "".join(json.loads(line)["finding"] for line in _lines(child, timeout_s))
    status = _end(child)
    if status in (0, FOUND):
        return found
    return f"the process ended with status {status}" if status != -signal.SIGKILL else f"no end within {timeout_s:.0f} s"


# ---- children


def _start(seed: int, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.fuzz.grammar.run", "--child", "--seed", str(seed), *arguments]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(ROOT)]).strip(os.pathsep),
    }
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=ROOT, env=environment)


def _lines(child: subprocess.Popen[bytes], silence_s: float) -> Iterator[bytes]:
    """Yield the lines of a child until it ends or is silent for too long."""
    assert child.stdout is not None
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while selector.select(silence_s):
            read = os.read(child.stdout.fileno(), 1 << 16)
            if not read:
                return
            *whole, pending = (pending + read).split(b"\n")
            yield from whole


def _end(child: subprocess.Popen[bytes]) -> int:
    """Wait for a child that has closed its output, kill one that has not; return its status."""
    assert child.stdout is not None
    try:
        return child.wait(GIVE_UP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()
    finally:
        child.stdout.close()


def _add(campaign: Campaign, entry: dict[str, object]) -> None:
    outcome = _Entry(entry)
    campaign.datagrams += outcome.number("datagrams")
    campaign.invalid += outcome.number("invalid")
    campaign.outside_window += outcome.number("over_runs") + outcome.number("under_runs")
    campaign.images += outcome.number("images")
    campaign.fragments += outcome.number("fragments")
    campaign.bystander_messages += outcome.number("bystander_messages")
    campaign.longest_poll_ms = max(campaign.longest_poll_ms, float(str(entry["longest_poll_ms"])))
    campaign.kinds.update(outcome.counts("kinds"))
    campaign.poll_errors.update(outcome.counts("poll_errors"))
    campaign.finding = str(entry["finding"])
    if not campaign.finding:
        campaign.episodes += 1


class _Entry:
    """A child's line."""

    def __init__(self, entry: dict[str, object]) -> None:
        self._entry = entry

    def number(self, name: str) -> int:
        return int(str(self._entry[name]))

    def counts(self, name: str) -> dict[str, int]:
        found = self._entry[name]
        assert isinstance(found, dict)
        return found


def _save_finding(campaign: Campaign, episode: int, length: int, folder: Path | None) -> Path | None:
    """Record the steps of the episode that failed, leave out what is not needed, and save the rest."""
    folder = folder or ROOT / "build" / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"grammar-{campaign.seed}-{episode}.txt"
    with tempfile.TemporaryDirectory(prefix="aw-minimise-") as scratch:
        trial = Path(scratch) / "steps.txt"
        child = _start(campaign.seed, "--first", str(episode), "--count", str(length), "--length", str(length), "--record", str(trial))
        for _ in _lines(child, SILENCE_S):
            pass
        _end(child)
        steps = load(trial) if trial.exists() else []
        remark = json.dumps({"seed": campaign.seed, "episode": episode, "finding": campaign.finding})

        def fails(shorter: list[Step]) -> bool:
            save(trial, shorter, remark=remark)
            return bool(replay(trial, timeout_s=SILENCE_S / 4))

        if not steps or not fails(steps):
            campaign.finding += "; the recorded steps alone do not show it again"
        else:
            steps = minimise(steps, fails, tries=MINIMISE_TRIES)
        save(path, steps, remark=remark)
    return path


def _run_here(arguments: argparse.Namespace) -> int:
    """Run episodes in this process, one line of JSON each."""
    from tests.fuzz.grammar.episode import run_episode
    from tests.fuzz.memory import allocated_bytes

    end = time.monotonic() + arguments.seconds if arguments.seconds else float("inf")
    sent, number = 0, arguments.first
    record: Callable[[Step], object] | None = None
    if arguments.record is not None:
        file = arguments.record.open("w", buffering=1)

        def record(step: Step) -> None:
            file.write(to_line(step) + "\n")

    while sent < arguments.count and time.monotonic() < end:
        outcome = run_episode(arguments.seed, number, min(arguments.length, arguments.count - sent), record)
        sent, number = sent + outcome.datagrams, number + 1
        # Drivers and clients are cycles of objects, with memory that the collector does not see.
        gc.collect()
        if outcome.traceback:
            print(outcome.traceback, file=sys.stderr)
        print(json.dumps({**outcome.to_dict(), "memory_kib": allocated_bytes() >> 10}), flush=True)
        if outcome.finding:
            return FOUND
    return 0


def _replay_here(path: Path) -> int:
    """Run a saved sequence in this process."""
    from tests.fuzz.grammar.episode import replay_episode

    remark = json.loads(path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# "))
    outcome = replay_episode(remark["seed"], remark["episode"], load(path))
    print(json.dumps({"finding": outcome.finding}), flush=True)
    return FOUND if outcome.finding else 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Send hostile sequences of accepted datagrams to a driver and a client in memory.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1_000_000, help="datagrams (default: a million)")
    parser.add_argument("--seconds", type=float, default=0.0, help="end after that time")
    parser.add_argument("--length", type=int, default=LENGTH, help="datagrams of an episode")
    parser.add_argument("--first", type=int, default=0, help="number of the first episode")
    parser.add_argument("--save", type=Path, help="folder for what is found (default: build/fuzz)")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run a saved sequence again")
    for hidden in ("--record", "--replay-here"):
        parser.add_argument(hidden, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child:
        return _replay_here(arguments.replay_here) if arguments.replay_here else _run_here(arguments)
    if arguments.replay:
        found = replay(arguments.replay)
        print(found or "nothing found")
        return 1 if found else 0
    campaign = run_campaign(
        arguments.seed, arguments.count, length=arguments.length, seconds=arguments.seconds, first=arguments.first, save_to=arguments.save
    )
    print(campaign.summary())
    print(", ".join(f"{kind} {count}" for kind, count in campaign.kinds.most_common()))
    if campaign.poll_errors:
        print("raised by polls:", ", ".join(f"{name} {count}" for name, count in campaign.poll_errors.items()))
    if campaign.finding:
        print(f"FOUND: {campaign.finding}\nsaved as {campaign.saved}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
