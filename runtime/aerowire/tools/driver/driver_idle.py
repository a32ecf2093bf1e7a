"""`aerowire driver idle`: what a controllable idle strategy does, shown and set while it runs. Aeron: SetControllableIdleStrategy."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from aerowire.tools.arguments import add_directory_arguments

if TYPE_CHECKING:
    from aerowire.ipc.cnc import CncFile

EXAMPLES = """\
Examples:
  aerowire driver idle
  aerowire driver idle spin --dir /dev/shm/aeron-me
  aerowire driver idle park --json

Modes, by name or by Aeron's number: 1 noop (goes on at once), 2 spin (with a processor's hint to pause), 3 yield, 4 park (sleeps for a
microsecond). The change shows in the next cycle. 0 none is shown only: a driver whose threads have no such strategy has it.

Only threads that were started with the idle strategy 'controllable' ask the number, such as by
-Daeron.sender.idle.strategy=controllable, official or ours; such a driver begins with 4. In any other it stands at 0, and may be set,
but nothing comes of it. Where somebody has set it, it does not tell which driver has such threads.

Exit codes: 0 shown or set; 1 set where it stood at 0, or shown of a driver that has ended or stands still;
2 usage, or no driver there, or none that lives to set it in.
"""
# By Aeron's number (Agrona: ControllableIdleStrategy).
# tests/tools/driver/test_driver_idle.py holds them beside those of aerowire.base.idle.
MODES = ("none", "noop", "spin", "yield", "park")
NONE = 0
_AT_NONE = "the counter {stands} at 0, as where no thread was started with the idle strategy 'controllable'"
SETTABLE = MODES[NONE + 1 :]


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register `driver idle`."""
    parser = subparsers.add_parser(
        "driver idle",
        help="show or set what a driver's controllable idle strategy does",
        description="Show what the controllable idle strategy of a running driver does when there is nothing to do, or set it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("mode", metavar="MODE", nargs="?", type=_mode, help=f"{', '.join(SETTABLE)}, or 1 to 4 (default: show it)")
    add_directory_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def _mode(text: str) -> int:
    settable = dict(enumerate(SETTABLE, NONE + 1))
    named = {name: value for value, name in settable.items()} | {str(value): value for value in settable}
    value = named.get(text.lower())
    if value is None:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(SETTABLE)}, or 1 to {len(MODES) - 1}, got {text!r}")
    return value


def mode_text(value: int) -> str:
    """Return what a number tells a controllable strategy to do."""
    return MODES[value] if 0 <= value < len(MODES) else "unknown, taken as park"


def run(arguments: argparse.Namespace) -> int:
    """Show or set the mode; returns 0, or 1 when it has no effect."""
    from aerowire.base.text import printable
    from aerowire.codecs.tables.counters import SystemCounter
    from aerowire.tools.driver.driver_control import check_lives
    from aerowire.tools.driver.driver_files import ALIVE, driver_files
    from aerowire.tools.exit_codes import DONE, FINDING

    with driver_files(arguments) as files:
        state = files.state()
        _check_has_counter(files.cnc(), state.aeron_dir)
        was = files.cnc().counters_reader().value(SystemCounter.CONTROLLABLE_IDLE_STRATEGY)
        value = was
        if arguments.mode is not None:
            check_lives(state, "there is nothing to set")
            value = arguments.mode
            _set(files.cnc().path, value)
    if arguments.json:
        fields = {"value": value, "mode": mode_text(value)}
        before = {} if arguments.mode is None else {"was": was}
        print(json.dumps({"aeron_dir": state.aeron_dir, "pid": state.pid, "driver": state.state, **fields, **before}), flush=True)
    else:
        changed = "" if arguments.mode is None else f", was {was} {mode_text(was)}"
        print(f"{value} {mode_text(value)}{changed}", flush=True)
    if arguments.mode is None and state.state != ALIVE:
        print(printable(f"aerowire driver idle: {state.aeron_dir}: {state.heartbeat_text}"), file=sys.stderr)
        return FINDING
    if was == NONE and not arguments.json:
        note = _AT_NONE.format(stands="stands" if arguments.mode is None else "stood")
        print(printable(f"aerowire driver idle: driver {state.pid} in {state.aeron_dir}: {note}"), file=sys.stderr)
    return FINDING if was == NONE and arguments.mode is not None else DONE


def _check_has_counter(cnc: CncFile, aeron_dir: str) -> None:
    """Raise unless the driver has the counter where Aeron has it. Aeron: StatusUtil."""
    from aerowire.base.errors import DriverError
    from aerowire.codecs.tables.counters import SYSTEM_COUNTER_LABELS, SystemCounter
    from aerowire.ipc.counters import STATE_ALLOCATED

    number = SystemCounter.CONTROLLABLE_IDLE_STRATEGY
    expected = SYSTEM_COUNTER_LABELS[number]
    reader = cnc.counters_reader()
    found = reader.label(number) if reader.state(number) == STATE_ALLOCATED else "no counter"
    if found != expected:
        raise DriverError(
            f"the driver has no counter '{expected}'", where=f"counter {int(number)} in {aeron_dir}", expected=expected, actual=found
        )


def _set(path: object, value: int) -> None:
    from aerowire.codecs.tables.counters import SystemCounter
    from aerowire.ipc.cnc import CncFile

    with CncFile.map(str(path)) as cnc:
        cnc.counters_manager().set_value(SystemCounter.CONTROLLABLE_IDLE_STRATEGY, value)
