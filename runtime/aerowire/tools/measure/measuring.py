"""What `aerowire ping`, `aerowire throughput` and the scripts under benchmarks/ have in common: arguments, the driver, the report."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from aerowire.base.errors import ConfigurationError
from aerowire.tools.arguments import IDLE_HELP, idle_strategy_name, named_directory, properties_of, stream_id
from aerowire.tools.measure.measure import BATCH, BATCH_COUNT, PEERS, SINGLE, Plan
from aerowire.tools.terminal.histogram import Bucket, bar_of, rows_of

IPC_CHANNEL = "aeron:ipc?term-length=4m"
UDP_CHANNEL = "aeron:udp?endpoint=127.0.0.1:20121"
UDP_REPLY_CHANNEL = "aeron:udp?endpoint=127.0.0.1:20122"
PROCESS, EMBEDDED, RUNNING = "process", "embedded", "running"
# What measurements use where no directory is named.
OWN_DRIVER = "that of a driver of its own, started for the measurement"
THREADING_MODES = ("DEDICATED", "SHARED_NETWORK", "SHARED")


def add_arguments(parser: argparse.ArgumentParser, *, messages: int, warmup: int, length: int = 32) -> None:
    """Add the arguments that both measurements take."""
    parser.add_argument("--channel", default=IPC_CHANNEL, help=f"channel of the messages (default: {IPC_CHANNEL})")
    parser.add_argument("--stream", metavar="ID", type=stream_id, default=1001, help="stream of the messages (default: 1001)")
    parser.add_argument("--length", type=int, default=length, help=f"bytes of payload (default: {length})")
    parser.add_argument("--messages", type=int, default=messages, help=f"messages measured (default: {messages:,})")
    parser.add_argument("--warmup", type=int, default=warmup, help=f"messages before that (default: {warmup:,})")
    parser.add_argument(
        "--mode",
        choices=(SINGLE, BATCH),
        default=SINGLE,
        help="a call for each message, or offer_many and poll_into (default: single)",
    )
    parser.add_argument("--peer", choices=PEERS, default=PEERS[0], help="library to measure; pyzmq over its ipc:// (default: aerowire)")
    parser.add_argument(
        "--batch", dest="batch_count", type=int, default=BATCH_COUNT, help=f"messages a call in batch mode (default: {BATCH_COUNT})"
    )
    parser.add_argument(
        "--driver", choices=(PROCESS, EMBEDDED), default=PROCESS, help="where a driver of its own runs (default: in a process)"
    )
    parser.add_argument(
        "--idle",
        metavar="NAME",
        type=idle_strategy_name,
        help=f"idle strategy of a driver of its own: {IDLE_HELP} (default: as fits the channel)",
    )
    parser.add_argument(
        "--threading", choices=THREADING_MODES, default="SHARED", help="threading mode of a driver of its own (default: SHARED)"
    )
    parser.add_argument("--runs", type=int, default=1, help="measure this often and take the median of each number (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement:
    """A subcommand that measures, and a script under benchmarks/ too: what differs between them. `run` returns the exit code."""

    name: str
    help: str
    description: str
    examples: str
    messages: int
    warmup: int
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add its arguments, --dir and -D aside."""
        add_arguments(parser, messages=self.messages, warmup=self.warmup)
        self.add(parser)

    def command(self, subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
        """Register the subcommand."""
        from aerowire.tools.arguments import add_directory_arguments

        parser = subparsers.add_parser(
            self.name,
            help=self.help,
            description=self.description,
            epilog=self.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_arguments(parser)
        add_directory_arguments(parser, otherwise=OWN_DRIVER)
        parser.set_defaults(run=self.run)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where a measurement ran: what is printed beside its numbers."""

    driver: str
    idle: str
    aeron_dir: str


def reply_channel_of(channel: str, reply_channel: str | None) -> str:
    """Return the channel of the answers: the one that was given, else one that goes with the channel."""
    if reply_channel is not None:
        return reply_channel
    return UDP_REPLY_CHANNEL if channel.startswith("aeron:udp") else channel


def plan_of(arguments: argparse.Namespace, *, reply_channel: str | None = None, **more: Any) -> Plan:
    """Return the plan that the arguments describe, with `more` of its fields."""
    return Plan(
        channel=arguments.channel,
        reply_channel=reply_channel_of(arguments.channel, reply_channel),
        stream_id=arguments.stream,
        length=arguments.length,
        messages=arguments.messages,
        warmup=arguments.warmup,
        mode=arguments.mode,
        peer=arguments.peer,
        batch_count=arguments.batch_count,
        **more,
    )


def measure(arguments: argparse.Namespace, plan: Plan, run: Callable[[Plan], dict[str, float]]) -> tuple[dict[str, float], Setting]:
    """Run the plan `--runs` times beside a driver; return the median of each number, and the setting."""
    plan.check()
    if arguments.runs < 1:
        raise ConfigurationError("a figure is out of range", where="--runs", expected="at least 1", actual=arguments.runs)
    with driver_scope(arguments, plan) as setting:
        placed = dataclasses.replace(plan, aeron_dir=setting.aeron_dir)
        results = []
        for number in range(1, arguments.runs + 1):
            _tell(f"measuring {plan.messages:,} messages, run {number} of {arguments.runs}")
            results.append(run(placed))
        _tell("")
    return {name: statistics.median(result[name] for result in results) for name in results[0]}, setting


def measure_and_report(
    arguments: argparse.Namespace,
    plan: Plan,
    run: Callable[[Plan], dict[str, float]],
    histogram: Callable[[], list[Bucket]] = lambda: [],
) -> int:
    """Measure, print the numbers, and the histogram where there is one, and return the exit code."""
    result, setting = measure(arguments, plan, run)
    report(arguments, plan, result, setting, histogram())
    return 0


def require_directory(arguments: argparse.Namespace, why: str) -> None:
    """Raise ConfigurationError where no directory is named: `why` names the argument that needs a driver which others have as well."""
    if named_directory(arguments) is None:
        raise ConfigurationError(
            "both ends must have the same driver",
            where=why,
            expected="--dir, aeron.dir or AERON_DIR",
            actual="none",
            hint="start `aerowire driver --dir DIR`, and give that to both",
        )


def _tell(text: str) -> None:
    """Show what is under way on one line of a terminal, written once: anything that moved would be measured too."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def driver_scope(arguments: argparse.Namespace, plan: Plan) -> Iterator[Setting]:
    """Start the driver that the arguments ask for, and end it; where a directory is named use the one that is there."""
    if plan.peer != PEERS[0]:
        yield Setting("none", "none", "")
        return
    directory = named_directory(arguments)
    if directory is not None:
        yield Setting(RUNNING, "as it was started", directory)
        return
    from aerowire.base.directory import random_aeron_dir
    from aerowire.driver.media_driver import MediaDriver

    # IPC needs the driver now and then to move limits, and a spinning one takes a core from the two ends; UDP passes through it.
    fitting = "backoff" if plan.channel.startswith("aeron:ipc") else "yield" if plan.is_crowded else "spin"
    idle = arguments.idle or fitting
    options: dict[str, Any] = {
        "aeron_dir": random_aeron_dir(),
        "dir_delete_on_shutdown": True,
        "threading_mode": arguments.threading,
        **{f"{role}_idle_strategy": idle for role in ("shared", "sharednetwork", "sender", "receiver", "conductor")},
    }
    launch = MediaDriver.spawn if arguments.driver == PROCESS else MediaDriver.launch
    with launch(properties=properties_of(arguments), **options) as driver:
        yield Setting(f"{arguments.driver}, {arguments.threading}", idle, driver.aeron_dir)


def report(arguments: argparse.Namespace, plan: Plan, result: dict[str, float], setting: Setting, histogram: Sequence[Bucket] = ()) -> None:
    """Print the numbers: as one JSON object, or as lines for people, with bars and a histogram of latencies."""
    about = {
        "peer": plan.peer,
        "channel": plan.channel if plan.peer == PEERS[0] else "ipc",
        "length": plan.length,
        "messages": plan.messages,
        "mode": plan.mode,
        **form_of(plan),
        **({"rate": plan.rate} if plan.rate else {}),
        "driver": setting.driver,
        **({"aeron_dir": setting.aeron_dir} if setting.driver == RUNNING else {}),
        "idle": setting.idle,
        "runs": arguments.runs,
    }
    if arguments.json:
        buckets = {"histogram_us": [[bucket.low / 1e3, bucket.high / 1e3, bucket.samples] for bucket in histogram]} if histogram else {}
        print(json.dumps({**result, **about, **buckets}))
        return
    print("  ".join(f"{name}={value}" for name, value in about.items()), file=sys.stderr)
    largest = max(result.values(), default=0.0)
    for name, value in result.items():
        print(f"{name:>12} {value:>16,.2f}  {bar_of(value, largest) if histogram else ''}".rstrip())
    print("".join(f"\n{row}" for row in rows_of(histogram)), end="\n" if histogram else "")


def form_of(plan: Plan) -> dict[str, str]:
    """Return how batches are passed, where there are any: offer_many takes other forms too, with other costs."""
    if plan.mode != BATCH or plan.peer != PEERS[0]:
        return {}
    return {"form": f"offer_many of a NumPy array of {plan.batch_count} rows, poll_into another"}
