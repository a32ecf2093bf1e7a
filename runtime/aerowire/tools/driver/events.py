"""`aerowire events`: what a driver or an archive does, as it does it. Aeron: the event log of its logging agent."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from aerowire.tools.arguments import add_directory_arguments

if TYPE_CHECKING:
    from aerowire.base.event_selection import EventVocabulary
    from aerowire.tools.driver.event_reader import Event, EventReader

# How long the log is left alone when nothing has come.
_LOOK_S = 0.05
_CODE_WIDTH = 36

EXAMPLES = """\
Examples:
  aerowire driver -Daeron.event.log=admin &
  aerowire events
  aerowire events --only FRAME_IN,NAK_SENT --all
  aerowire events --json --once | jq -r .event | sort | uniq -c
  aerowire archive start -Daeron.event.archive.log=all ... &
  aerowire events --archive recordings
  aerowire events --codes archive

Without --all or --once only what happens from now on is shown.

A driver notes the events that -Daeron.event.log names when it starts: names or numbers with commas between, admin for all but frames, or
all; -Daeron.event.log.disable takes some out again. Without it there is no log and no cost. The log holds -Daeron.event.buffer.length
bytes, and newer events overwrite older ones: for a reader that is too slow the number of missed events is shown. An archive's events are
selected by -Daeron.event.archive.log and .disable, and its log is in its own directory.

Exit codes: 0 shown, or ended by Ctrl-C; 2 usage, or there is no event log.
"""


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "events",
        help="show what a driver or an archive does: frames, commands, changes of state",
        description="Show the events that a driver notes: frames and commands in and out, and changes of state; or, with --archive, those "
        "of an archive: requests and responses, signals, and changes of sessions, recordings, replays and replications.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_directory_arguments(parser)
    parser.add_argument("--archive", metavar="DIR", help="show the events of the archive in this directory, not a driver's")
    parser.add_argument("--all", action="store_true", help="begin with what was noted before, as far as the log still holds it")
    parser.add_argument("--once", action="store_true", help="show what the log holds, as with --all, and end")
    parser.add_argument("--only", metavar="EVENTS", default="all", help="show only these events, named as in the option that selects them")
    parser.add_argument(
        "--codes",
        choices=("driver", "archive", "cluster"),
        nargs="?",
        const="driver",
        help="list all events of a component (default: driver), and the property that selects them, and end",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.set_defaults(run=run, is_endless=lambda arguments: not (arguments.once or arguments.codes is not None))


def run(arguments: argparse.Namespace) -> int:
    """Show events; returns 0."""
    if arguments.codes is not None:
        _list_codes(arguments.codes)
        return 0
    component = "driver" if arguments.archive is None else "archive"
    wanted = _vocabulary(component).parse(arguments.only, "--only")
    reader = _reader(arguments)
    try:
        _show(reader, wanted, is_once=arguments.once, as_json=arguments.json)
    finally:
        reader.close()
    return 0


def _reader(arguments: argparse.Namespace) -> EventReader:
    from aerowire.tools.driver.driver_files import driver_files
    from aerowire.tools.driver.event_reader import ARCHIVE, EventReader

    from_start = arguments.all or arguments.once
    if arguments.archive is not None:
        return EventReader(arguments.archive, from_start=from_start, source=ARCHIVE)
    with driver_files(arguments) as files:
        return EventReader(files.aeron_dir, from_start=from_start)


def text_of(event: Event) -> str:
    """Return an event as a line for people."""
    seconds, nanoseconds = divmod(event.timestamp_ns, 1_000_000_000)
    when = f"{time.strftime('%H:%M:%S', time.localtime(seconds))}.{nanoseconds // 1000:06}"
    return f"{when} {event.code.name:<{_CODE_WIDTH}} {_facts_text(event.facts)}".rstrip()


def _show(reader: EventReader, wanted: frozenset[Any], *, is_once: bool, as_json: bool) -> None:
    while True:
        events = reader.poll()
        lines = [line for event in events for line in _lines(event, wanted, as_json=as_json)]
        if lines:
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()
        if events:
            continue
        if is_once:
            return
        if not reader.follow():
            time.sleep(_LOOK_S)


def _lines(event: Event, wanted: frozenset[Any], *, as_json: bool) -> list[str]:
    import json

    if as_json:
        return [json.dumps(event.to_dict())] if event.code in wanted or event.missed else []
    missed = [f"-- {event.missed:,} events were overwritten before they were read"] if event.missed else []
    return [*missed, text_of(event)] if event.code in wanted else missed


def _facts_text(facts: dict[str, object]) -> str:
    from aerowire.base.text import printable

    words = []
    for name, value in facts.items():
        if isinstance(value, dict):
            words.append(_facts_text(value))
        elif name == "type":
            words.append(str(value))
        else:
            words.append(f"{name}={printable(str(value))}")
    return " ".join(words)


def _list_codes(component: str) -> None:
    events = _vocabulary(component)
    print(f"{events.enabled.property}, {events.disabled.property}:")
    for code in sorted(events.all):
        never = f"  (never noted: {events.never_noted[code]})" if code in events.never_noted else ""
        print(f"{code.value:>3}  {code.name}{never}")


def _vocabulary(component: str) -> EventVocabulary[Any]:
    if component == "driver":
        from aerowire.driver.event_log.event_selection import DRIVER_EVENTS

        return DRIVER_EVENTS
    from aerowire.base.event_selection import ARCHIVE_EVENTS, CLUSTER_EVENTS

    return ARCHIVE_EVENTS if component == "archive" else CLUSTER_EVENTS
