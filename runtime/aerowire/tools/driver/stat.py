"""`aerowire stat`: the counters of a driver, read from its directory. Aeron: AeronStat."""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerowire.tools.driver.watching import add_watch_arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from aerowire.ipc.counters import CounterInfo
    from aerowire.tools.driver.counter_keys import CounterKey
    from aerowire.tools.driver.driver_files import DriverFiles, DriverState

EXAMPLES = """\
Examples:
  aerowire stat
  aerowire stat --dir /dev/shm/aeron-me --watch 0.5 --sort rate
  aerowire stat --once --type client-heartbeat --type 12
  aerowire stat --stream '1001' --channel 40123 --label '^(snd|rcv)-pos'
  aerowire stat --json | jq '.counters[] | select(.value > 0)'

PATTERN is a regular expression. --type, --identity, --session and --stream want all of the number (a type's name is as good), so that
--stream 1 does not show stream 1001; --channel and --label are searched in. A counter without a stream passes no filter of streams.
Rates are of the last interval, so that there are none with --once.

Exit codes: 0 shown, or ended by Ctrl-C or SIGTERM while live; 1 interrupted before it had shown; 2 usage, or no driver's files there.
"""
_RULE_LENGTH = 70
_VALUE_LENGTH = 26
_RATE_LENGTH = 15


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "stat",
        help="show a driver's counters",
        description="Show the counters of a driver, live on a terminal, once with --once or when piped.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_watch_arguments(parser, is_live=True, fewer="--type, --label, --stream")
    numbers: dict[str, Any] = {"metavar": "PATTERN", "type": _pattern, "action": "append"}
    parser.add_argument("--type", dest="types", help="only counters of this type, by number or name (sub-pos); repeatable", **numbers)
    parser.add_argument("--identity", dest="identities", help="only this registration, system counter or recording; repeatable", **numbers)
    parser.add_argument("--session", dest="sessions", help="only this session id; repeatable", **numbers)
    parser.add_argument("--stream", dest="streams", help="only this stream id; repeatable", **numbers)
    parser.add_argument("--channel", metavar="PATTERN", type=_pattern, help="only counters whose channel has this in it")
    parser.add_argument("--label", metavar="PATTERN", type=_pattern, help="only counters whose label has this in it")
    parser.add_argument(
        "--sort", choices=_ORDERS, default="id", help="what comes first: the smallest id, the largest value, ... (default: id)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show counters; returns 0."""
    from aerowire.tools.driver.watching import show

    return show(arguments, _Look(arguments))


@dataclass(frozen=True, slots=True)
class Row:
    """A counter that is shown; `rate` is its change a second since it was shown last."""

    counter: CounterInfo
    rate: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        counter = self.counter
        return {
            "id": counter.counter_id,
            "type_id": counter.type_id,
            "value": counter.value,
            "label": counter.label,
            "registration_id": counter.registration_id,
            "owner_id": counter.owner_id,
            "reference_id": counter.reference_id,
            "rate": self.rate,
        }


_ORDERS: dict[str, Callable[[Row], Any]] = {
    "id": lambda row: row.counter.counter_id,
    "value": lambda row: -row.counter.value,
    "rate": lambda row: -(row.rate or 0.0),
    "type": lambda row: (row.counter.type_id, row.counter.counter_id),
    "label": lambda row: row.counter.label,
}


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of one moment."""

    driver: DriverState
    rows: list[Row]

    def to_dict(self) -> dict[str, Any]:
        """Return them for programs."""
        return {
            "time_ms": time.time_ns() // 1_000_000,
            "aeron_dir": self.driver.aeron_dir,
            "cnc_version": self.driver.cnc_version,
            "pid": self.driver.pid,
            "start_timestamp_ms": self.driver.start_timestamp_ms,
            "heartbeat_ms": self.driver.heartbeat_ms,
            "driver": self.driver.state,
            "counters": [row.to_dict() for row in self.rows],
        }

    def render(self) -> RenderableType:
        """Return them for people: lines as AeronStat's, and rates where there are any."""
        from rich.console import Group
        from rich.text import Text

        from aerowire.base.text import printable
        from aerowire.tools.driver.driver_files import ALIVE
        from aerowire.tools.terminal.figures import rate_text
        from aerowire.tools.terminal.live_view import head_style

        driver = self.driver
        head = f"{time.strftime('%H:%M:%S')} - CnC v{driver.version_text}, pid {driver.pid}, {driver.heartbeat_text}"
        head_lines = ((head, "bold" if driver.state == ALIVE else "bold red"), ("=" * _RULE_LENGTH, ""))
        lines = [Text(line, style=head_style(style)) for line, style in head_lines]
        has_rates = any(row.rate is not None for row in self.rows)
        # Where rates need room the values take no more than theirs.
        width = max((len(f"{row.counter.value:,}") for row in self.rows), default=0) if has_rates else _VALUE_LENGTH
        for row in self.rows:
            counter = row.counter
            rate = f"{rate_text(row.rate) + ' /s' if row.rate else '':>{_RATE_LENGTH}}" if has_rates else ""
            line = f"{counter.counter_id:5d}: {counter.value:{width},d}{rate} - {printable(counter.label)}"
            lines.append(Text(line, style="" if counter.value or row.rate else "dim", no_wrap=True, overflow="ellipsis"))
        return Group(*lines)


class _Look:
    """Looks at the counters; knows those of the last time, for the rates."""

    def __init__(self, arguments: argparse.Namespace, nano_time: Callable[[], int] = time.monotonic_ns) -> None:
        self._nano_time = nano_time
        self._arguments = arguments
        self._before: dict[tuple[int, ...], int] = {}
        self._before_ns = 0

    def __call__(self, files: DriverFiles) -> Counters:
        from aerowire.codecs.tables.counters import CounterType

        counters = list(files.cnc().counters_reader().for_each())
        now_ns = self._nano_time()
        elapsed_s = (now_ns - self._before_ns) / 1e9
        driver = files.state()
        # A counter of the same id may be another one by now, and so may the driver.
        identity = {item: (driver.start_timestamp_ms, item.counter_id, item.type_id, item.registration_id) for item in counters}
        rows = []
        for item in counters:
            before = self._before.get(identity[item])
            is_clock = item.type_id == CounterType.CLIENT_HEARTBEAT
            rows.append(Row(item, None if before is None or is_clock or elapsed_s <= 0 else (item.value - before) / elapsed_s))
        self._before = {identity[item]: item.value for item in counters}
        self._before_ns = now_ns
        return Counters(driver, sorted((row for row in rows if is_wanted(self._arguments, row.counter)), key=_ORDERS[self._arguments.sort]))


def is_wanted(arguments: argparse.Namespace, counter: CounterInfo) -> bool:
    """Return whether a counter passes the filters."""
    from aerowire.tools.driver.counter_keys import key_of, type_name

    if arguments.types and not any(_is_all_of(arguments.types, name) for name in (counter.type_id, type_name(counter.type_id))):
        return False
    if arguments.label is not None and not arguments.label.search(counter.label):
        return False
    needs_key = arguments.identities or arguments.sessions or arguments.streams or arguments.channel is not None
    return not needs_key or _is_of(arguments, key_of(counter))


def _is_of(arguments: argparse.Namespace, key: CounterKey) -> bool:
    asked = ((arguments.identities, key.identity), (arguments.sessions, key.session_id), (arguments.streams, key.stream_id))
    if any(patterns and not _is_all_of(patterns, value) for patterns, value in asked):
        return False
    return arguments.channel is None or (key.channel is not None and arguments.channel.search(key.channel) is not None)


def _is_all_of(patterns: list[re.Pattern[str]], value: int | str | None) -> bool:
    return value is not None and any(pattern.fullmatch(str(value)) for pattern in patterns)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"expected a regular expression, got {text!r}: {error}") from None
