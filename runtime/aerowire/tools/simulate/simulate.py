"""`aerowire simulate`: drivers and clients in worlds that follow from seeds, with faults, and rules that are checked at every step."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.tools.arguments import count, count_or_none

if TYPE_CHECKING:
    from rich.progress import Progress

    from aerowire.simulation.scenarios.catalogue import AnyPlan
    from aerowire.simulation.scenarios.plan import Kept
    from aerowire.tools.simulate.ledger import Entry
    from aerowire.tools.simulate.seeds import AnyRun

SEEDS = (0, 99)
REPEAT_EVERY = 20
# More than any machine has processors for.
JOBS_MAX = 1024
PARTS = ("misfortunes", "streams", "habits", "churners")
OF_ONE = ("shrink", *PARTS, "stop_at", "trace", "pcap", "pcap_overwrite")
EXAMPLES = """\
Examples:
  aerowire simulate --list
  aerowire simulate rough --seed 7
  aerowire simulate --seeds 0-299 --jobs 2
  aerowire simulate crashes --seeds 0-99999 --minutes 30 --ledger seeds.jsonl
  aerowire simulate rough --seed 7 --trace events.txt --stop-at 1200
  aerowire simulate rough --seed 7 --pcap rough.pcapng
  aerowire simulate mypackage.scenarios:ORDERS --seeds 0-9

Drivers, clients and their network run in one thread and in virtual time; a seed decides everything. Without a SCENARIO each has its turn.
A seed that fails tells what was expected and seen, the last events of each host, and the command that repeats it; --shrink looks for the
fewest misfortunes, streams, habits and churners with which it fails. A --ledger keeps what was run: seeds in it are not
run again by the same version (in a checkout: the same commit and changes).

A --pcap holds every datagram once, as its socket sends it, with the addresses and the time of the simulated world, whatever becomes of it
later. Copies that links make, and sends that fail, are not in it. It is pcapng, or classic pcap for a name that ends in .pcap.

Exit codes: 0 all rules were kept; 1 a seed failed, or interrupted; 2 usage.
"""
ABOUT = """\
A simulated world replaces these, and nothing else; all other code is that of a real driver, archive and client.

  clock        a wall clock and a monotonic clock for each host: off, drifting, set forth and back
  randomness   generators that follow from the seed
  network      a link for each pair of hosts and direction: loss, duplicates, reordering, delay, clogging, queues, partitions, errors
  files        a disk for each host, and the mapped files on it: what was not synced, and all below /dev/shm, may be lost with the power
  names        a table of the world's
  scheduling   one thread; which process has the next turn is drawn
  processes    ids and lives of a host's own table; a kill runs nothing of an orderly end
  waiting      refused: a call that waits raises, and names the form that does not
"""


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "simulate",
        help="run drivers and clients in simulated worlds, by seeds, and check rules at every step",
        description="Run whole drivers and clients in simulated worlds that follow from seeds, and check rules at every step.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenario", metavar="SCENARIO", nargs="?", help="a name of --list, or MODULE:OBJECT (default: each one in turn)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", metavar="N", type=_seed, help="one seed")
    which.add_argument("--seeds", metavar="A-B", type=_range, help=f"seeds from A to B (default: {SEEDS[0]}-{SEEDS[1]})")
    which.add_argument("--list", action="store_true", help="list the scenarios")
    which.add_argument("--about", action="store_true", help="say what a simulated world replaces, and what it does not")
    parser.add_argument("--jobs", metavar="N", type=_jobs, default=1, help="run so many seeds side by side (default: 1)")
    parser.add_argument("--minutes", metavar="M", type=_minutes, help="begin no more seeds after so many minutes")
    parser.add_argument("--ledger", metavar="FILE", type=Path, help="append outcomes to a file, and leave out seeds that are in it")
    parser.add_argument(
        "--repeat-every",
        metavar="N",
        type=count_or_none,
        default=REPEAT_EVERY,
        help=f"run each N-th seed twice, and compare the two worlds; 0 for none (default: {REPEAT_EVERY})",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line for each seed")
    one = parser.add_argument_group("of one seed")
    one.add_argument("--shrink", action="store_true", help="look for the fewest of all parts below with which it fails")
    one.add_argument("--misfortunes", metavar="LIST", type=_numbers, help="keep those of these numbers, such as 0,3; none for none")
    one.add_argument("--streams", metavar="LIST", type=_numbers, help="keep the streams of these numbers; of archives, their operations")
    habits = "pauses, held claims, ends, several readers: keep those of the streams of these numbers"
    one.add_argument("--habits", metavar="LIST", type=_numbers, help=habits)
    churners = "applications that add and close all the time: keep those on the hosts of these numbers"
    one.add_argument("--churners", metavar="LIST", type=_numbers, help=churners)
    one.add_argument("--stop-at", metavar="STEP", type=count_or_none, help="stop at this step, and print the last events of each host")
    one.add_argument("--trace", metavar="FILE", type=Path, help="write a line for each event and each packet")
    one.add_argument("--pcap", metavar="FILE", type=Path, help="write all packets to a capture, for `aerowire pcap` and Wireshark")
    one.add_argument("--pcap-overwrite", action="store_true", help="replace the file of --pcap if it is there")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked for; returns 1 when a seed failed."""
    from aerowire.base.errors import ConfigurationError
    from aerowire.simulation.scenarios.catalogue import ALL_SCENARIOS
    from aerowire.tools.simulate.seeds import RunRaisedError, scenario_of

    if arguments.about:
        print(ABOUT, end="")
        return 0
    if arguments.list:
        for scenario in ALL_SCENARIOS.values():
            print(f"{scenario.name:12} {scenario.about}")
        return 0
    names = [arguments.scenario] if arguments.scenario else list(ALL_SCENARIOS)
    for name in names:
        scenario_of(name)
    of_one = [name for name in OF_ONE if getattr(arguments, name) not in (None, False)]
    if not of_one:
        return _run_many(arguments, names)
    if arguments.seed is None or arguments.scenario is None:
        raise ConfigurationError(f"--{of_one[0].replace('_', '-')} is of one seed", where="simulate", expected="SCENARIO and --seed")
    try:
        return _run_one(arguments)
    except RunRaisedError as error:
        print(f"RAISED: {error.told}")
        print("\n".join([*_lines_of(error.events), f"again: {_command(arguments.scenario, arguments.seed, _kept(arguments))}"]))
        return 1


@dataclass
class Totals:
    """What the seeds of a run come to."""

    passed: int = 0
    failed: int = 0
    simulated_s: float = 0.0
    steps: int = 0

    @property
    def count(self) -> int:
        """How many there were."""
        return self.passed + self.failed

    def add(self, entry: Entry) -> None:
        """Count a seed."""
        from aerowire.tools.simulate.ledger import PASSED

        self.passed += entry.outcome == PASSED
        self.failed += entry.outcome != PASSED
        self.simulated_s += entry.simulated_s
        self.steps += entry.steps


def _run_many(arguments: argparse.Namespace, names: list[str]) -> int:
    from aerowire.tools.simulate.code_version import code_version
    from aerowire.tools.simulate.ledger import PASSED, Ledger
    from aerowire.tools.simulate.seeds import run_seeds

    first, last = (arguments.seed, arguments.seed) if arguments.seed is not None else arguments.seeds or SEEDS
    seeds = range(first, last + 1)
    begun_s = time.monotonic()
    end_s = None if arguments.minutes is None else begun_s + 60 * arguments.minutes
    done = Totals()
    with Ledger(arguments.ledger, code_version()) as ledger, _progress() or nullcontext() as progress:
        known = ledger.known(names, seeds)
        left = (last + 1 - first) * len(names) - len(known)
        task = progress.add_task("seeds", total=left) if progress is not None else None
        tasks = (
            (name, seed, bool(arguments.repeat_every) and seed % arguments.repeat_every == 0)
            for seed in seeds
            for name in names
            if ledger.find(name, seed) is None
        )
        with closing(run_seeds(tasks, arguments.jobs, lambda: end_s is not None and time.monotonic() >= end_s)) as results:
            for entry, events in results:
                ledger.add(entry)
                done.add(entry)
                if progress is not None and task is not None:
                    progress.update(task, advance=1)
                if arguments.json:
                    print(json.dumps(asdict(entry), ensure_ascii=False), flush=True)
                elif entry.outcome != PASSED:
                    print(_failure(entry, events), flush=True)
    failed = [entry for entry in known if entry.outcome != PASSED]
    if not arguments.json:
        taken_s = time.monotonic() - begun_s
        told = f"{len(known) - len(failed) + done.passed} passed, {len(failed) + done.failed} failed"
        if known:
            told += f", of them {len(known)} by the ledger"
        if done.count < left:
            told += f"; {left - done.count:,} not run"
        print(f"{told}; {done.simulated_s:,.0f} simulated seconds, {done.steps:,} steps in {taken_s:,.1f} s")
        for entry in failed:
            print(f"by the ledger: {_failure(entry, {})}")
    return int(bool(failed or done.failed))


def _run_one(arguments: argparse.Namespace) -> int:
    from aerowire.base.errors import ConfigurationError
    from aerowire.simulation.scenarios.outcome import StoppedError
    from aerowire.simulation.scenarios.shrinking import shrink
    from aerowire.tools.simulate.capture import Capture
    from aerowire.tools.simulate.seeds import execute, fails, plan_of, run_of
    from aerowire.tools.simulate.trace import Trace

    plan = plan_of(arguments.scenario, arguments.seed)
    kept = _kept(arguments)
    for part, end in zip(PARTS, (len(plan.misfortunes), len(plan.streams), len(plan.streams), plan.hosts), strict=True):
        if any(number >= end for number in getattr(kept, part) or ()):
            actual = ",".join(map(str, getattr(kept, part)))
            raise ConfigurationError(f"no such {part}", where=f"--{part}", expected=f"numbers below {end}", actual=actual)
    plan = plan.only(kept)
    if arguments.shrink:
        if not fails(plan):
            print("it passes: there is nothing to shrink")
            return 0
        smaller = shrink(plan, fails)
        plan = plan.only(smaller)
        kept = kept.further(smaller)
    with Trace(arguments.trace) as trace, Capture(arguments.pcap, overwrites=arguments.pcap_overwrite) as capture:
        made: list[AnyRun] = []

        def make(plan: AnyPlan) -> AnyRun:
            made.append(run_of(plan, stop_at=arguments.stop_at, on_event=trace.event))
            trace.follow(made[0].world.network)
            capture.follow(made[0].world)
            return made[0]

        try:
            outcome = execute(plan, make)
        except StoppedError as stopped:
            print(f"stopped at {stopped}")
            print("\n".join(_lines_of(made[0].events)))
            made[0].close()
            return 0
    for misfortune in plan.misfortunes:
        print(f"misfortune: {misfortune}")
    print(f"{outcome.steps:,} steps, {outcome.packets:,} packets, {outcome.messages:,} messages, digest {outcome.digest:016x}")
    if outcome.failure is None:
        print("all rules were kept")
        return 0
    print(f"FAILED: {outcome.failure}")
    print("\n".join([*_lines_of(outcome.events), f"again: {_command(arguments.scenario, plan.seed, kept)}"]))
    return 1


def _failure(entry: Entry, events: dict[str, list[str]]) -> str:
    lines = [f"{entry.scenario}, seed {entry.seed}: {entry.outcome.upper()}: {entry.told}", *_lines_of(events)]
    return "\n".join([*lines, f"again: {_command(entry.scenario, entry.seed)}"])


def _lines_of(events: dict[str, list[str]]) -> list[str]:
    return [f"  {host}: {line}" for host, lines in sorted(events.items()) for line in lines]


def _kept(arguments: argparse.Namespace) -> Kept:
    from aerowire.simulation.scenarios.plan import Kept

    return Kept(*(getattr(arguments, part) for part in PARTS))


def _command(scenario: str, seed: int, kept: Kept | None = None) -> str:
    told = f"aerowire simulate {scenario} --seed {seed}"
    for part in PARTS:
        if kept is not None and (numbers := getattr(kept, part)) is not None:
            told += f" --{part} {','.join(map(str, numbers)) or 'none'}"
    return told


def _progress() -> Progress | None:
    if not sys.stderr.isatty():
        return None
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    from aerowire.tools.terminal.progress import Bars

    return Bars(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def _minutes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of minutes above 0, got {text}")
    return value


def _seed(text: str) -> int:
    if not re.fullmatch("[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"expected a whole number of at most 18 digits, got {text}")
    return int(text)


def _jobs(text: str) -> int:
    if (jobs := count(text)) > JOBS_MAX:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {JOBS_MAX}, got {text}")
    return jobs


def _range(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,18})-(\d{1,18})", text)
    if found is None or int(found[2]) < int(found[1]):
        raise argparse.ArgumentTypeError(f"expected two numbers such as 0-99, got {text}")
    return int(found[1]), int(found[2])


def _numbers(text: str) -> tuple[int, ...]:
    if text == "none":
        return ()
    if not re.fullmatch(r"\d{1,6}(,\d{1,6})*", text):
        raise argparse.ArgumentTypeError(f"expected numbers such as 0,3, or none, got {text}")
    return tuple(dict.fromkeys(map(int, text.split(","))))
