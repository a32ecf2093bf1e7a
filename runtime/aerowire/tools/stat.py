"""`aerowire stat`: the counters of a driver, read from its directory. Aeron: AeronStat."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING

from aerowire.tools.arguments import add_directory_arguments, properties_of, seconds

if TYPE_CHECKING:
    from aerowire.ipc.cnc import CncFile
    from aerowire.ipc.counters import CounterInfo

EXAMPLES = """\
Examples:
  aerowire stat
  aerowire stat --dir /dev/shm/aeron-me --watch 0.5
  aerowire stat --once --type 11 --type 12
  aerowire stat --json | jq '.counters[] | select(.value > 0)'

Exit codes: 0 printed, or ended by Ctrl-C or SIGTERM while live; 1 interrupted before it had printed; 2 usage, or no driver's files there.
"""
_CLEAR_SCREEN = "\033[H\033[2J"


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "stat",
        help="show a driver's counters",
        description="Show the counters of a driver, live, or once with --once or when piped.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_directory_arguments(parser)
    parser.add_argument("--once", action="store_true", help="print once and end (the default when the output is not a terminal)")
    parser.add_argument("--json", action="store_true", help="print once, as one JSON object")
    parser.add_argument("--type", dest="type_ids", metavar="N", type=int, action="append", help="only counters of this type; repeatable")
    parser.add_argument("--watch", metavar="SECONDS", type=seconds, default=None, help="print again each so many seconds (default 1)")
    parser.set_defaults(run=run, is_endless=lambda arguments: not _is_single(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Print counters; returns 0."""
    from aerowire.base.directory import CNC_FILE_NAME, default_aeron_dir
    from aerowire.base.options import resolve_options
    from aerowire.ipc.cnc import CncFile

    options = resolve_options({"client"}, {}, properties_of(arguments))
    path = f"{options['dir'] or default_aeron_dir()}/{CNC_FILE_NAME}"
    is_single = _is_single(arguments)
    interval_s = arguments.watch if arguments.watch is not None else 1.0
    with CncFile.map(path, writable=False) as cnc:
        while True:
            text = _json(cnc, arguments.type_ids) if arguments.json else _table(cnc, arguments.type_ids)
            if is_single:
                print(text)
                return 0
            print(_CLEAR_SCREEN + text if sys.stdout.isatty() else text, flush=True)
            time.sleep(interval_s)


def _is_single(arguments: argparse.Namespace) -> bool:
    return arguments.once or arguments.json or (arguments.watch is None and not sys.stdout.isatty())


def _counters(cnc: CncFile, type_ids: list[int] | None) -> list[CounterInfo]:
    return [item for item in cnc.counters_reader().for_each() if type_ids is None or item.type_id in type_ids]


def _table(cnc: CncFile, type_ids: list[int] | None) -> str:
    version = cnc.version
    age_ms = int(time.time() * 1000) - cnc.heartbeat_ms
    now = time.strftime("%H:%M:%S")
    head = f"{now} - CnC v{version >> 16}.{version >> 8 & 255}.{version & 255}, pid {cnc.pid}, {_heartbeat_text(cnc, age_ms)}"
    lines = [head, "=" * 70]
    lines += [f"{item.counter_id:5d}: {item.value:26,d} - {item.label}" for item in _counters(cnc, type_ids)]
    return "\n".join(lines)


def _heartbeat_text(cnc: CncFile, age_ms: int) -> str:
    if cnc.heartbeat_ms < 0:
        return "the driver has ended"
    return f"heartbeat {age_ms} ms ago"


def _json(cnc: CncFile, type_ids: list[int] | None) -> str:
    return json.dumps(
        {
            "cnc_version": cnc.version,
            "pid": cnc.pid,
            "start_timestamp_ms": cnc.start_timestamp_ms,
            "heartbeat_ms": cnc.heartbeat_ms,
            "counters": [
                {
                    "id": item.counter_id,
                    "type_id": item.type_id,
                    "value": item.value,
                    "label": item.label,
                    "registration_id": item.registration_id,
                    "owner_id": item.owner_id,
                    "reference_id": item.reference_id,
                }
                for item in _counters(cnc, type_ids)
            ],
        }
    )
