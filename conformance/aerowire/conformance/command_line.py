"""The arguments of the `conformance` command and what its subcommands do."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from aerowire.conformance.codecs import command as codecs
from aerowire.conformance.errors import ConformanceError
from aerowire.conformance.model import Verdict
from aerowire.conformance.peers.base import Peer, started
from aerowire.conformance.peers.drivers import AerowirePeer, CommandPeer, JavaPeer, RunningPeer, short_timers
from aerowire.conformance.progress import LiveLine
from aerowire.conformance.text import printable, printable_error
from aerowire.conformance.verdicts import command as verdicts
from aerowire.process.output import discard_output

EXIT_FINDING = 1
EXIT_USAGE = 2
DRIVERS = ("aerowire", "java", "command", "running")


EXAMPLES = """\
Examples:
  conformance list
  conformance run --driver aerowire
  conformance COMMAND --help
"""
RUN_EXAMPLES = """\
Examples:
  conformance run
  conformance run --case 'A*,C01' --seed 7
  conformance run --jobs 4 --report results
  conformance run --script my.aeron --driver java
  conformance run --pcap loss.pcap late.pcap --impair loss=0.05,reorder=0.1,seed=7
  conformance run --driver java --jar aeron-all.jar --report results
  conformance run --driver-command '/opt/aeronmd {properties}'
  conformance run --driver running --dir /dev/shm/aeron-me
"""
LIST_EXAMPLES = """\
Examples:
  conformance list
  conformance list --case 'E*' --json
"""
EXPLAIN_EXAMPLES = """\
Examples:
  conformance explain C01
"""
REPLAY_EXAMPLES = """\
Examples:
  conformance replay loss.pcap
  conformance replay loss.pcap --impair loss=0.05,swap=0.1,seed=7
  conformance replay loss.pcap --impair loss.every=7,loss.burst=3,loss.of=data+nak
  conformance replay loss.pcap --as receiver --impair delay=0.1,delay.ms=50,flip=0.05
  conformance replay traffic.pcapng --limit 20000 --pace captured --driver java
"""
IMPAIRMENTS = """\
Impairments, for datagrams in either direction; several at once, in any order:
  loss=SHARE         so many of all are lost, by chance
  loss.every=N       every N-th is lost
  loss.burst=N       N in a row are lost whenever one is
  loss.of=KINDS      only these are lost: some of data+setup+status+nak (all by default)
  duplicate=SHARE    arrive twice
  delay=SHARE        arrive late, by delay.ms=MS (20)
  swap=SHARE         arrive behind the next (also: reorder=)
  reverse=N          arrive N by N, each N backwards
  shuffle=N          arrive N by N, each N in any order
  truncate=SHARE     are cut short so that the rest is invalid
  flip=SHARE         have bits flipped so that they are invalid
  seed=N             makes the same choices again (1)
A SHARE is at least 0 and below 1.

"""
FUZZ_EXAMPLES = """\
Examples:
  conformance fuzz
  conformance fuzz --count 100000 --seed 7 --driver java
"""
EXIT_CODES = """
Exit codes: 0 every verdict is pass or unsupported; 1 a failure, a case without a conclusion, or interrupted;
2 usage, or a driver or file that cannot be started or read.
"""


class UsageError(ConformanceError):
    """Arguments that contradict each other or name what does not exist."""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the parsed arguments (default: the process's); usage ends the process."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    root = parser()
    if not given:
        root.print_help(sys.stderr)
        raise SystemExit(EXIT_USAGE)
    return root.parse_args(given)


def execute(options: argparse.Namespace) -> int:
    """Do what the arguments say; return the exit code. An error is told on standard error."""
    try:
        code = int(options.run(options))
        sys.stdout.flush()
    except ConformanceError as error:
        print(f"conformance: {printable_error(error)}", file=sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:
        discard_output()
        return EXIT_FINDING  # nobody has seen the verdicts
    except OSError as error:
        told = f"conformance: {error.filename or ''}: {error.strerror or error}".replace(": : ", ": ")
        print(printable(told), file=sys.stderr)
        discard_output()
        return EXIT_USAGE
    return code


def parser() -> argparse.ArgumentParser:
    """Return the parser of all subcommands."""
    form = argparse.RawDescriptionHelpFormatter
    root = argparse.ArgumentParser(
        prog="conformance", description="Tests any Aeron media driver from outside.", epilog=EXAMPLES + EXIT_CODES, formatter_class=form
    )
    commands = root.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, summary: str, description: str, examples: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=summary, description=description, epilog=examples + EXIT_CODES, formatter_class=form)

    run = add(
        "run",
        "run the cases of the catalogue against a driver",
        "Run the cases of the catalogue against a driver: frames on real sockets, commands through its cnc file.",
        RUN_EXAMPLES,
    )
    add_driver_options(run)
    run.add_argument(
        "--case", metavar="A01,E*", help="ids and patterns of the cases to run (default: all, or none with --script or --pcap)"
    )
    run.add_argument("--script", type=Path, metavar="FILE", action="append", default=[], help="a script to play as a case; may be repeated")
    run.add_argument(
        "--pcap",
        type=Path,
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="captures to replay as cases, the harness as sender and as receiver",
    )
    run.add_argument(
        "--impair",
        metavar="loss=0.05,seed=7",
        default="",
        help="what the network does to the datagrams of --pcap; see conformance replay --help (default: nothing)",
    )
    run.add_argument(
        "--seed", metavar="N", type=int, help="seed of session ids, ports and payloads (default: a new one; each run prints it)"
    )
    run.add_argument(
        "--jobs", metavar="N", type=count, default=1, help="drivers to test at once, each with cases of its own (default: %(default)s)"
    )
    run.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    run.add_argument("--report", type=Path, metavar="DIR", help="also write JSON, JUnit XML, captures of failures and a page into DIR")
    run.set_defaults(run=run_cases)

    listing = add("list", "list the cases", "List the cases of the catalogue, by group.", LIST_EXAMPLES)
    listing.add_argument("--case", metavar="A01,E*", help="ids and patterns of the cases to list (default: all)")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=list_cases)

    explain = add(
        "explain",
        "say what a case demands, why, and how it is tested",
        "Say what a case demands of a driver, where that is laid down, and how it is tested.",
        EXPLAIN_EXAMPLES,
    )
    explain.add_argument("case", metavar="CASE", help="id of a case, such as C01; see conformance list")
    explain.set_defaults(run=explain_case)

    replay = add(
        "replay",
        "play one end of a captured stream to a driver and compare what arrives with what was sent",
        "Play one end of a captured stream to a driver over a network as bad as you like, and compare what arrives with what was sent.",
        IMPAIRMENTS + REPLAY_EXAMPLES,
    )
    add_driver_options(replay)
    replay.add_argument("file", type=Path, metavar="FILE", help="pcap or pcapng file")
    replay.add_argument(
        "--as", dest="role", choices=("sender", "receiver"), default="sender", help="which end the harness plays (default: %(default)s)"
    )
    replay.add_argument(
        "--impair", metavar="loss=0.05,seed=7", default="", help="what the network does to datagrams, see below (default: nothing)"
    )
    replay.add_argument("--limit", type=count, metavar="N", help="take only the first N datagrams of the file (default: all)")
    replay.add_argument(
        "--pace", choices=("captured", "compressed"), default="compressed", help="keep the capture's times, or hurry (default: %(default)s)"
    )
    replay.add_argument("--json", action="store_true", help="print JSON")
    replay.set_defaults(run=replay_capture)

    verdicts.add_parser(commands)
    codecs.add_parser(commands)

    fuzz = add(
        "fuzz",
        "send malformed datagrams of every frame type and watch the driver bear them",
        "Send malformed datagrams of every frame type. The driver must live, count them, send no reply and keep its streams.",
        FUZZ_EXAMPLES,
    )
    add_driver_options(fuzz)
    fuzz.add_argument("--count", metavar="N", type=count, default=10_000, help="datagrams to send (default: %(default)s)")
    fuzz.add_argument("--seed", metavar="N", type=int, help="seed of the datagrams; printed by every run (default: a new one)")
    fuzz.add_argument("--json", action="store_true", help="print JSON")
    fuzz.set_defaults(run=fuzz_driver)
    return root


def count(text: str) -> int:
    """Return the number of things that an argument says, of which there must be one."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text}")
    return value


def add_driver_options(command: argparse.ArgumentParser) -> None:
    """Add the options that choose and start a driver."""
    command.add_argument("--driver", choices=DRIVERS, default="aerowire", help="which driver to test (default: %(default)s)")
    command.add_argument("--driver-command", metavar="CMD", help="command that starts the driver; {dir} and {properties} are replaced")
    command.add_argument("--dir", metavar="DIR", type=Path, help="driver directory: where to make it, or (--driver running) where it is")
    command.add_argument("--jar", metavar="FILE", type=Path, help="aeron-all jar for --driver java (default: AERON_ALL_JAR, or maven's)")
    command.add_argument("--release", metavar="N.N", help="Aeron release that the driver implements, when older than the catalogue")
    command.add_argument("-D", dest="properties", metavar="NAME=VALUE", action="append", default=[], help="an Aeron property of the driver")


def make_peer(options: argparse.Namespace) -> Peer:
    """Return the adapter that the options choose. Raises UsageError for options that do not fit together."""
    given: dict[str, str] = {}
    for item in options.properties:
        name, separator, value = item.partition("=")
        if not separator or not name:
            raise UsageError(f"-D{item}: expected NAME=VALUE")
        given[name] = value
    if options.driver_command and options.driver == "aerowire":
        options.driver = "command"
    properties = {**short_timers(), **given}
    peer: Peer
    if options.driver == "aerowire":
        peer = AerowirePeer(properties, options.dir)
    elif options.driver == "java":
        peer = JavaPeer(properties, options.jar, options.dir)
    elif options.driver == "command":
        if not options.driver_command:
            raise UsageError("--driver command needs --driver-command")
        peer = CommandPeer(options.driver_command, properties, options.dir)
    else:
        if options.dir is None:
            raise UsageError("--driver running needs --dir")
        # Nobody shortened this driver's timers; only what the user says of them is known.
        peer = RunningPeer(options.dir, given)
    if options.release:
        peer.release = options.release
    return peer


def new_seed(seed: int | None) -> int:
    """Return the seed given, or one that differs from run to run."""
    return seed if seed is not None else time.time_ns() % 1_000_000


def run_cases(options: argparse.Namespace) -> int:
    """`conformance run`."""
    from aerowire.conformance.parallel import run_in_parallel
    from aerowire.conformance.report import Terminal, exit_code, to_document, write_captures, write_report
    from aerowire.conformance.runner import Runner
    from aerowire.conformance.selection import choose, recipes_of

    recipes = recipes_of(options.script, options.pcap, options.impair)
    cases = choose(options.case, recipes)
    seed = new_seed(options.seed)
    begun = time.monotonic()
    if options.jobs > 1 and options.dir is not None:
        raise UsageError("--jobs needs drivers in directories of their own; leave --dir away")
    peer = make_peer(options)
    header = {"driver": peer.name, "release": peer.release, "seed": seed}
    terminal = Terminal(total=len(cases), is_quiet=options.json, is_in_order=options.jobs == 1)
    if not options.json:
        print(f"{len(cases)} cases against driver {printable(peer.name)}, seed {seed}", flush=True)
    if options.jobs > 1:
        results = run_in_parallel(
            peer, cases, seed=seed, jobs=options.jobs, recipes=recipes, on_start=terminal.on_start, on_result=terminal.on_result
        )
    else:
        with started(peer):
            results = Runner(peer, seed=seed, on_start=terminal.on_start, on_result=terminal.on_result).run(cases)
    terminal.on_end(results, time.monotonic() - begun)
    if options.json:
        print(json.dumps(to_document(results, header), indent=2))
    if options.report is not None:
        files = write_report(options.report, results, header)
        if not options.json:
            print(printable(f"report: {', '.join(str(path) for path in files)}"))
    elif any(result.exchanges for result in results if result.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)) and not options.json:
        for path in write_captures(Path(tempfile.mkdtemp(prefix="aerowire-conformance-failures-")), results):
            print(f"capture: {path}")
    return exit_code(results)


def list_cases(options: argparse.Namespace) -> int:
    """`conformance list`."""
    from aerowire.conformance.catalogue import GROUPS, select

    cases = select(options.case)
    if options.json:
        print(json.dumps([{"id": case.id, "group": case.group, "requirement": case.requirement} for case in cases], indent=2))
        return 0
    group = ""
    for case in cases:
        if case.group != group:
            group = case.group
            print(f"{group}  {GROUPS[group].topic}")
        print(f"  {case.id}  {case.requirement}")
    return 0


def explain_case(options: argparse.Namespace) -> int:
    """`conformance explain CASE`."""
    from aerowire.conformance.catalogue import select

    for case in select(options.case):
        print(f"{case.id}  {case.requirement}")
        for name, text in (
            ("stimulus", case.stimulus),
            ("expected", case.expected),
            ("bound", case.bound or "none"),
            ("source", case.source),
            ("since", case.since or "every release"),
        ):
            print(f"  {name:<9} {text}")
    return 0


def replay_capture(options: argparse.Namespace) -> int:
    """`conformance replay FILE`."""
    from aerowire.conformance.impairment import Impairment
    from aerowire.conformance.replay import replay_file

    try:
        impairment = Impairment.parse(options.impair)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not options.file.is_file():
        raise UsageError(f"{options.file}: no such capture")
    with started(make_peer(options)) as peer:
        outcome = replay_file(
            peer,
            options.file,
            role=options.role,
            impairment=impairment,
            limit=options.limit,
            is_paced=options.pace == "captured",
            progress=LiveLine().show,
        )
    if options.json:
        print(json.dumps(outcome.to_dict(), indent=2))
    else:
        for line in outcome.lines():
            print(printable(line))
    return 0 if outcome.is_pass else EXIT_FINDING


def fuzz_driver(options: argparse.Namespace) -> int:
    """`conformance fuzz`."""
    from aerowire.conformance.fuzz import fuzz

    seed = new_seed(options.seed)
    if not options.json:
        print(f"{options.count} malformed datagrams, seed {seed}", flush=True)
    with started(make_peer(options)) as peer:
        outcome = fuzz(peer, count=options.count, seed=seed, progress=LiveLine().show)
    if options.json:
        print(json.dumps(outcome.to_dict(), indent=2))
    else:
        for line in outcome.lines():
            print(printable(line))
    return 0 if outcome.is_pass else EXIT_FINDING
