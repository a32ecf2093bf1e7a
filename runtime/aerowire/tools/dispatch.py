"""Finds the subcommands of `aerowire` by entry point and reads the arguments of the one that was asked for."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from aerowire.base.errors import AerowireError
from aerowire.base.version import VERSION
from aerowire.tools.exit_codes import DONE, USAGE

ENTRY_POINT_GROUP = "aerowire.commands"

Subparsers = argparse._SubParsersAction  # argparse has no public name for it
Command = Callable[["Subparsers[argparse.ArgumentParser]"], None]

_ARCHIVE = {
    f"archive {name}": f"aerowire.tools.archive.{home}"
    for name, home in (
        ("describe", "inspection:describe_command"),
        ("describe-all", "inspection:describe_all_command"),
        ("list", "recording_list:command"),
        ("dump", "dump:command"),
        ("errors", "inspection:errors_command"),
        ("pid", "inspection:pid_command"),
        ("verify", "verify:verify_command"),
        ("checksum", "verify:checksum_command"),
        ("count-entries", "inspection:count_entries_command"),
        ("max-entries", "inspection:max_entries_command"),
        ("capacity", "changes:capacity_command"),
        ("migrate", "changes:migrate_command"),
        ("compact", "changes:compact_command"),
        ("delete-orphaned-segments", "changes:delete_orphaned_command"),
        ("mark-valid", "changes:mark_valid_command"),
        ("mark-invalid", "changes:mark_invalid_command"),
        ("repair", "repair:command"),
        ("retention", "retention:command"),
        ("unlock", "unlock:command"),
        ("export", "export:command"),
        ("record", "running.record:record_command"),
        ("stop", "running.record:stop_command"),
        ("replay", "running.replay:command"),
        ("replicate", "running.copies:command"),
        ("truncate", "running.shortening:truncate_command"),
        ("purge", "running.shortening:purge_command"),
    )
}
_CLUSTER = {
    f"cluster {name}": f"aerowire.tools.cluster.{home}"
    for name, home in (
        ("describe", "inspection:describe_command"),
        ("pid", "inspection:pid_command"),
        ("recovery-plan", "recovery_plan:command"),
        ("replay-check", "replay_check:command"),
        ("recording-log", "recording_log:recording_log_command"),
        ("sort-recording-log", "recording_log:sort_command"),
        ("seed-recording-log-from-snapshot", "recording_log:seed_command"),
        ("errors", "inspection:errors_command"),
        ("list-members", "membership:list_members_command"),
        ("is-leader", "membership:is_leader_command"),
        ("snapshot", "control:snapshot_command"),
        ("suspend", "control:suspend_command"),
        ("resume", "control:resume_command"),
        ("shutdown", "control:shutdown_command"),
        ("abort", "control:abort_command"),
        ("invalidate-latest-snapshot", "recording_log:invalidate_command"),
        ("describe-latest-cm-snapshot", "snapshot:command"),
    )
}
# Our own subcommands, which need no installation to be found; others come by entry point.
_OWN: dict[str, str] = {
    "driver": "aerowire.tools.driver.driver:command",
    "driver pid": "aerowire.tools.driver.driver_control:pid_command",
    "driver idle": "aerowire.tools.driver.driver_idle:command",
    "driver terminate": "aerowire.tools.driver.driver_control:terminate_command",
    "archive start": "aerowire.tools.archive.start:command",
    "cluster start": "aerowire.tools.cluster.start:command",
    "publish": "aerowire.tools.streams.publish:command",
    "subscribe": "aerowire.tools.streams.subscribe:command",
    "file send": "aerowire.tools.files.file_send:command",
    "file receive": "aerowire.tools.files.file_receive:command",
    "stat": "aerowire.tools.driver.stat:command",
    "streams": "aerowire.tools.streams.streams:command",
    "backlog": "aerowire.tools.streams.backlog:command",
    "errors": "aerowire.tools.driver.errors:command",
    "loss": "aerowire.tools.streams.loss:command",
    "log": "aerowire.tools.log.log:command",
    "cnc": "aerowire.tools.driver.cnc:command",
    "events": "aerowire.tools.driver.events:command",
    "doctor": "aerowire.tools.doctor.doctor:command",
    "ping": "aerowire.tools.measure.ping:command",
    "pong": "aerowire.tools.measure.pong:command",
    "throughput": "aerowire.tools.measure.throughput:command",
    "rate": "aerowire.tools.measure.rate:command",
    "pcap": "aerowire.pcap.commands:command",
    **_ARCHIVE,
    **_CLUSTER,
    "simulate": "aerowire.tools.simulate.simulate:command",
    "demo": "aerowire.tools.demo.demo:command",
}
EPILOG = """\
Examples:
  aerowire driver --dir /dev/shm/aeron-me
  aerowire subscribe --dir /dev/shm/aeron-me aeron:ipc 10
  seq 100 | aerowire publish --dir /dev/shm/aeron-me aeron:ipc 10
  aerowire COMMAND --help

Exit codes: 0 done; 1 a finding, or interrupted before it was done; 2 usage, or something that cannot be read or reached.
"""


class _Parser(argparse.ArgumentParser):
    """Refuses what it does not know itself: a subcommand with its own usage, before whoever called it would with another."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse all arguments; those that nobody knows are an error."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the parsed arguments: `run(namespace)` does the work, `is_endless(namespace)` says that only a signal ends it."""
    words = _joined(arguments)
    parser = _parser(words)
    if not words:
        parser.print_help(sys.stderr)
        raise SystemExit(USAGE)
    if _family(words[0]) and words[1:2] in (["-h"], ["--help"]):
        parser.print_help()
        raise SystemExit(DONE)
    parsed = parser.parse_args(words)
    if not hasattr(parsed, "is_endless"):
        parsed.is_endless = lambda _arguments: False
    return parsed


def _joined(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with a command of two words as one: `driver pid` beside `driver`, which takes files itself."""
    pair = " ".join(arguments[:2])
    return [pair, *arguments[2:]] if pair in _OWN else list(arguments)


def _family(word: str | None) -> list[str]:
    """Return the commands of two words that begin with `word`, where it is none by itself: `file send` and `file receive` of `file`."""
    return [] if word in _OWN else [name for name in _OWN if name.startswith(f"{word} ")]


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(
        prog="aerowire", description="Aeron messaging for Python.", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"aerowire {VERSION}", help="say which version this is, and exit")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    wanted = next((argument for argument in argv if not argument.startswith("-")), None)
    # The one that is asked for is enough; all of them are loaded only to be listed or to say what there is.
    homes = _OWN if wanted in _OWN else _homes()
    names = [wanted] if wanted in homes else _family(wanted) or list(homes)
    for name in names:
        _load(name, homes[name], subparsers, is_required=name == wanted)
    return parser


def _homes() -> dict[str, str]:
    homes = dict(_OWN)
    from importlib import metadata

    for entry in metadata.entry_points(group=ENTRY_POINT_GROUP):
        homes[entry.name] = entry.value
    return homes


def _load(name: str, home: str, subparsers: Subparsers[argparse.ArgumentParser], *, is_required: bool) -> None:
    module_name, _, attribute = home.partition(":")
    try:
        command: Command = getattr(importlib.import_module(module_name), attribute)
    except ImportError as error:
        if is_required:
            raise AerowireError(
                f"the command '{name}' cannot be loaded",
                where=home,
                expected="its packages to be installed",
                actual=str(error),
            ) from None
        return  # a command of another package that is not installed is not listed
    command(subparsers)
