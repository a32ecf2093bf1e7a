"""`aerowire driver pid` and `aerowire driver terminate`: which process a driver is, and asking it to end. Aeron: DriverTool."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.tools.arguments import add_directory_arguments, seconds

if TYPE_CHECKING:
    from aerowire.tools.driver.driver_files import DriverFiles, DriverState

PID_EXAMPLES = """\
Examples:
  aerowire driver pid
  aerowire driver pid --dir /dev/shm/aeron-me --json
  top -p "$(aerowire driver pid)"

The process id is what the driver wrote. When no such process is seen from here, the heartbeat decides, for up to 1.5 s: when it moves on,
the driver is in another PID namespace and has another id here, and when it does not, its process is gone. Both are told on standard error.

Exit codes: 0 it lives; 1 it has ended, is gone or stands still, which is told beside the process id; 2 usage, or no driver's files.
"""
TERMINATE_EXAMPLES = """\
Examples:
  aerowire driver terminate
  aerowire driver terminate --dir /dev/shm/aeron-me --token secret --wait 10
  aerowire driver terminate --token-file /run/secrets/driver

A driver ends only when its termination validator accepts the token, and its default validator accepts none: start it with
-Daeron.driver.termination.validator=io.aeron.driver.DefaultAllowTerminationValidator, official or ours. A driver does not answer the
request: one that has taken it and beats on when --wait is over has refused it.

Exit codes: 0 ended; 1 refused, or not ended in time; 2 usage, or no driver there that lives.
"""
ENDED, REFUSED, IGNORED, GONE = "ended", "refused", "ignored", "gone"
_GONE = "is gone, and its heartbeat stands still: it has ended without a word, or was killed"
_ELSEWHERE = "is not seen from here, but its heartbeat moves: the driver is in another PID namespace, where it has this id"
# Drivers beat once a second.
_HEARTBEAT_S = 1.5
_WAIT_DEFAULT_S = 5.0
_LOOK_S = 0.02


def pid_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register `driver pid`."""
    parser = subparsers.add_parser(
        "driver pid",
        help="print the process id of a driver",
        description="Print the process id of the driver of a directory.",
        epilog=PID_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_directory_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object with its state as well")
    parser.set_defaults(run=run_pid)


def terminate_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register `driver terminate`."""
    parser = subparsers.add_parser(
        "driver terminate",
        help="ask a driver to end, and tell what came of it",
        description="Ask the driver of a directory to end, and tell what came of it.",
        epilog=TERMINATE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_directory_arguments(parser)
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--token", metavar="TEXT", default="", help="token for the driver's validator (default: none)")
    token.add_argument("--token-file", metavar="FILE", help="file with the token, all of its bytes")
    parser.add_argument(
        "--wait", metavar="SECONDS", type=seconds, default=_WAIT_DEFAULT_S, help=f"how long it may take (default: {_WAIT_DEFAULT_S:g})"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run_terminate)


def run_pid(arguments: argparse.Namespace) -> int:
    """Print the process id; returns 0 for a living driver, else 1."""
    from aerowire.base.text import printable
    from aerowire.system.processes import process_is_running
    from aerowire.tools.driver.driver_files import ALIVE, driver_files
    from aerowire.tools.exit_codes import DONE, FINDING

    with driver_files(arguments) as files:
        state = files.state()
        told, found = state.heartbeat_text, state.state
        is_told = found != ALIVE
        # The heartbeat may be recent although the driver has ended: then its lock file is not locked.
        is_young = state.age_ms is not None and 0 <= state.age_ms <= files.driver_timeout_ns // 1_000_000
        if (found == ALIVE or is_young) and not process_is_running(state.pid, begun_by_ms=state.start_timestamp_ms):
            is_told, lives = True, found == ALIVE and _await_heartbeat(files, state)
            found = ALIVE if lives else GONE
            told = f"process {state.pid} {_ELSEWHERE if lives else _GONE}"
    _print({"pid": state.pid, "aeron_dir": state.aeron_dir, "driver": found}, str(state.pid), as_json=arguments.json)
    if is_told:
        print(printable(f"aerowire driver pid: {state.aeron_dir}: {told}"), file=sys.stderr)
    return DONE if found == ALIVE else FINDING


def _await_heartbeat(files: DriverFiles, before: DriverState) -> bool:
    """Return whether the driver beats on within the time that one takes that lives."""
    deadline = time.monotonic() + _HEARTBEAT_S
    while time.monotonic() < deadline:
        state = files.state()
        if state.heartbeat_ms != before.heartbeat_ms:
            return state.state != ENDED
        time.sleep(_LOOK_S)
    return False


def run_terminate(arguments: argparse.Namespace) -> int:
    """Ask the driver to end; returns 0 when it did, else 1."""
    from aerowire.client import request_driver_termination
    from aerowire.tools.driver.driver_files import driver_files
    from aerowire.tools.exit_codes import DONE, FINDING

    token = Path(arguments.token_file).read_bytes() if arguments.token_file is not None else arguments.token.encode()
    with driver_files(arguments) as files:
        before = files.state()
        check_lives(before, "there is nothing to end")
        request_driver_termination(files.aeron_dir, token)
        begin = time.monotonic()
        outcome = _await_end(files, before, arguments.wait)
        took_s = time.monotonic() - begin
    told = {
        ENDED: f"driver {before.pid} in {before.aeron_dir} has ended after {took_s:.1f} s",
        REFUSED: f"driver {before.pid} in {before.aeron_dir} has taken the request and goes on: its validator refused the token",
        IGNORED: f"driver {before.pid} in {before.aeron_dir} has not taken the request within {arguments.wait:g} s: it stands still",
    }[outcome]
    fields = {"outcome": outcome, "pid": before.pid, "aeron_dir": before.aeron_dir, "seconds": round(took_s, 3)}
    _print(fields, told, as_json=arguments.json)
    return DONE if outcome == ENDED else FINDING


def check_lives(state: DriverState, hint: str) -> None:
    """Raise DriverTimeoutError with `hint` unless the driver lives."""
    from aerowire.base.errors import DriverTimeoutError
    from aerowire.tools.driver.driver_files import ALIVE

    if state.state != ALIVE:
        raise DriverTimeoutError(
            "no driver lives in the directory",
            where=state.aeron_dir,
            expected="a heartbeat",
            actual=state.heartbeat_text,
            hint=hint,
        )


def _await_end(files: DriverFiles, before: DriverState, wait_s: float) -> str:
    """Wait until the driver has ended; else say whether it has taken the request out of its ring."""
    from aerowire.base.errors import DriverError
    from aerowire.codecs.flyweights.cnc import RingTrailerDecoder
    from aerowire.system.processes import process_is_running
    from aerowire.tools.driver.driver_files import ALIVE

    buffer = files.cnc().to_driver_buffer
    ring = RingTrailerDecoder(buffer, len(buffer) - RingTrailerDecoder.ENCODED_LENGTH)
    request_end = ring.tail_position
    was_seen = process_is_running(before.pid, begun_by_ms=before.start_timestamp_ms)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            state = files.state()
        except DriverError:
            return ENDED  # its directory is gone
        if state.state != ALIVE or state.start_timestamp_ms != before.start_timestamp_ms:
            return ENDED
        if was_seen and not process_is_running(before.pid, begun_by_ms=before.start_timestamp_ms):
            return ENDED
        if time.monotonic() >= deadline:
            return REFUSED if ring.head_position >= request_end else IGNORED
        time.sleep(_LOOK_S)


def _print(fields: dict[str, Any], text: str, *, as_json: bool) -> None:
    import json

    from aerowire.base.text import printable

    print(json.dumps(fields) if as_json else printable(text), flush=True)
