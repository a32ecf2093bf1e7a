"""`aerowire cluster replay-check`: a check that a service is deterministic, by two replays of a log."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from aerowire.tools.arguments import count_or_none
from aerowire.tools.directory_command import Subparsers, add_family_parser, show, show_json, system_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.cluster.files.recording_log_entry import RecordingLogEntry
    from aerowire.cluster.replay.log_replay import ReplayedMessage
    from aerowire.cluster.replay.member_log import MemberLog
    from aerowire.cluster.replay.outputs import Output
    from aerowire.cluster.replay.stored_snapshots import SnapshotComparison

_CODES = "Exit codes: 0 both replays are the same; 1 they differ, or a recorded snapshot does; 2 usage, or something that cannot be read."
_EXAMPLES = ("counter:Counter node0/cluster", "counter:Counter copy/cluster --archive-dir copy/archive --from-snapshot --json")
# Differences of the processes. The shift of the clock changes year, weekday, hour, minute and second.
_HASH_SEEDS: Final = ("1", "2")
_CLOCK_SHIFTS_S: Final = (0, 400 * 86_400 + 5 * 3_600 + 7 * 60 + 11)
_BALLASTS: Final = (0, 10_007)
_TOLD_EVERY: Final = 1_000
_MESSAGE_MARK: Final = b"["
_SHOWN_BYTES: Final = 32
_SHOWN_BEFORE: Final = 8


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster replay-check`."""
    parser = add_family_parser(
        subparsers,
        "cluster",
        "replay-check",
        run,
        purpose="check that a service does the same each time that its log is replayed",
        description="Replay the log of a member twice through a service, in two processes with different hash seeds, wall clocks and "
        "addresses of objects, and name the first message at which the service does not do the same: messages to sessions and to the "
        "cluster, timers scheduled and cancelled, sessions closed, errors raised, snapshots. Snapshots that the member has recorded are "
        "compared, too. Neither a driver nor the member need run; nothing is changed.",
        examples=_EXAMPLES,
        notes=_CODES,
    )
    parser.add_argument("service", metavar="MODULE:CLASS", help="the service; MODULE is looked for in the current directory, too")
    parser.add_argument("directory", metavar="DIR", help="the cluster directory of a member, ours or an official one")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--archive-dir", metavar="DIR", help="the directory of the member's archive (default: archive, beside DIR)")
    parser.add_argument("--service-id", metavar="ID", type=count_or_none, default=0, help="which service of the member (default: 0)")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--from-start", action="store_true", help="replay from position 0 (default: from as far back as is recorded)")
    start.add_argument("--from-snapshot", action="store_true", help="replay from the latest snapshot only, as a member that starts")


@dataclass(frozen=True, slots=True)
class _Difference:
    """The first message at which two replays differ, and which of the outputs is the first that does."""

    first: ReplayedMessage
    second: ReplayedMessage
    index: int

    def outputs(self) -> tuple[Output | None, Output | None]:
        """Return the outputs that differ; None for the replay that has no more."""
        return _at(self.first, self.index), _at(self.second, self.index)


@dataclass(slots=True)
class _Findings:
    """Result of two replays."""

    messages: int = 0
    difference: _Difference | None = None
    snapshots: list[SnapshotComparison] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return self.difference is None and all(one.index is None for one in self.snapshots)


def run(arguments: argparse.Namespace) -> int:
    """Replay twice; returns 0 if nothing differs, else 1. Raises what keeps the log or the service from being replayed."""
    from aerowire.cluster.replay.member_log import open_member_log
    from aerowire.tools.exit_codes import DONE, FINDING

    directory = Path(arguments.directory)
    archive_dir = directory.absolute().parent / "archive" if arguments.archive_dir is None else Path(arguments.archive_dir)
    _require(directory, archive_dir)
    log = open_member_log(system_files(), directory, archive_dir, arguments.service_id)
    snapshot = _start(log, arguments)
    with _progress(log) as progress:
        findings = _compare(log, _tasks(arguments, log, snapshot), progress)
    if arguments.json:
        show_json(_as_object(log, snapshot, findings))
    else:
        show(_as_text(log, snapshot, findings))
    return DONE if findings.is_same else FINDING


def _require(directory: Path, archive_dir: Path) -> None:
    """Raise ConfigurationError if a file that a log consists of is missing."""
    from aerowire.base.errors import ConfigurationError
    from aerowire.codecs.flyweights.archive_files import CATALOG_FILE_NAME
    from aerowire.codecs.flyweights.cluster_files import RECORDING_LOG_FILE_NAME

    for folder, name, what, hint in (
        (directory, RECORDING_LOG_FILE_NAME, "the cluster directory of a member", "it is what aeron.cluster.dir says"),
        (archive_dir, CATALOG_FILE_NAME, "the directory of the member's archive", "say where it is by --archive-dir"),
    ):
        if not system_files().exists(folder / name):
            raise ConfigurationError(f"{name} does not exist", where=folder, expected=what, hint=hint)


def _start(log: MemberLog, arguments: argparse.Namespace) -> RecordingLogEntry | None:
    """Return the snapshot to start from, None for the beginning. Raises ClusterServiceError."""
    if arguments.from_snapshot:
        return log.last_start()
    found = log.first_start()
    if found is not None and arguments.from_start:
        from aerowire.base.errors import ClusterServiceError

        raise ClusterServiceError(
            "the beginning of the log is no longer recorded",
            where=f"recording {log.recording.recording_id} in {log.archive_dir}",
            expected="a recording from position 0 on",
            actual=f"one from position {log.recording.start_position} on",
            hint=f"without --from-start it is replayed from the snapshot at {found.log_position}",
        )
    return found


def _tasks(arguments: argparse.Namespace, log: MemberLog, snapshot: RecordingLogEntry | None) -> list[tuple[str, str]]:
    """Return the hash seed and the encoded task of each process."""
    from aerowire.tools.cluster.replay_process import ReplayTask

    return [
        (
            seed,
            ReplayTask(
                service=arguments.service,
                service_id=arguments.service_id,
                member_id=_member_id(Path(arguments.directory)),
                cluster_dir=arguments.directory,
                archive_dir=str(log.archive_dir),
                snapshot=None if snapshot is None else snapshot.recording_id,
                end_position=log.end_position,
                clock_shift_s=shift,
                ballast=ballast,
            ).encode(),
        )
        for seed, shift, ballast in zip(_HASH_SEEDS, _CLOCK_SHIFTS_S, _BALLASTS, strict=True)
    ]


def _member_id(directory: Path) -> int:
    """Return the id of the member, 0 without a mark file."""
    from aerowire.base.errors import AerowireError
    from aerowire.cluster.files.member_directory import describe_member

    try:
        return describe_member(system_files(), directory).component.header.member_id
    except AerowireError:
        return 0


def _compare(log: MemberLog, tasks: list[tuple[str, str]], progress: Callable[[int], object]) -> _Findings:
    """Run both replays side by side, as far as the first difference."""
    from aerowire.cluster.replay.log_replay import END_OF_LOG
    from aerowire.cluster.replay.outputs import SNAPSHOT
    from aerowire.cluster.replay.stored_snapshots import compare_snapshot

    findings, marks = _Findings(), [f'"{text}"'.encode() for text in (END_OF_LOG, SNAPSHOT)]
    with ExitStack() as processes:
        started = [processes.enter_context(_process(seed, task, is_shown=not index)) for index, (seed, task) in enumerate(tasks)]
        while True:
            lines = [_output(process).readline() for process in started]
            is_told = findings.messages % _TOLD_EVERY == 0
            if lines[0] == lines[1] and lines[0].startswith(_MESSAGE_MARK) and not is_told and not any(mark in lines[0] for mark in marks):
                findings.messages += 1
                continue
            first, second = map(_message_of, lines, started)
            if first != second:
                findings.difference = _difference(first, second)
                return findings
            if first.template == END_OF_LOG:
                return findings
            findings.messages += 1
            progress(first.position)
            comparison = compare_snapshot(log, first)
            if comparison is not None:
                findings.snapshots.append(comparison)


def _message_of(line: bytes, process: subprocess.Popen[bytes]) -> ReplayedMessage:
    """Return the message of a line. Raises ClusterServiceError for an error of the process, and for its end."""
    from aerowire.base.errors import ClusterServiceError
    from aerowire.tools.cluster.replay_process import decode_message

    if not line:
        raise ClusterServiceError(
            "a replay has ended before its log",
            where=f"process {process.pid}",
            expected="all messages",
            actual=f"exit code {process.wait()}",
        )
    found = decode_message(line)
    if isinstance(found, str):
        raise ClusterServiceError("the log cannot be replayed", actual=found)
    return found


def _difference(first: ReplayedMessage, second: ReplayedMessage) -> _Difference:
    index = next(at for at in range(len(first.outputs) + 1) if _at(first, at) != _at(second, at))
    return _Difference(first, second, index)


def _at(message: ReplayedMessage, index: int) -> Output | None:
    return message.outputs[index] if index < len(message.outputs) else None


@contextmanager
def _process(seed: str, task: str, *, is_shown: bool) -> Iterator[subprocess.Popen[bytes]]:
    """Start a replay, and end it. Only one of the processes shows what the service prints."""
    paths = [str(Path.cwd()), *(path for path in sys.path if path)]
    environ = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
    process = subprocess.Popen(
        [sys.executable, "-m", "aerowire.tools.cluster.replay_process", task],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if is_shown else subprocess.DEVNULL,
        env=environ,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _output(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout


@contextmanager
def _progress(log: MemberLog) -> Iterator[Callable[[int], object]]:
    """Give a function to be called with log positions that are done, shown on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _position: None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn

    from aerowire.tools.terminal.progress import Bars

    with Bars(TextColumn("{task.description}"), BarColumn(), DownloadColumn()) as bars:
        task = bars.add_task("replaying twice", total=log.end_position)
        yield lambda position: bars.update(task, completed=position)


def _as_text(log: MemberLog, snapshot: RecordingLogEntry | None, findings: _Findings) -> str:
    from aerowire.base.text import printable

    start = "its beginning" if snapshot is None else f"the snapshot at {snapshot.log_position} (recording {snapshot.recording_id})"
    lines = [
        f"log: recording {log.recording.recording_id}, replayed from {start} to {log.end_position}, "
        f"known to be committed to {log.committed_position}"
    ]
    for one in findings.snapshots:
        where = f"snapshot at {one.log_position} (recording {one.recording_id})"
        if one.index is None:
            lines.append(f"{where}: as replayed")
        else:
            lines.append(f"{where}: message {one.index + 1} is not as replayed")
            lines += _pair_text(("recorded", one.recorded), ("replayed", one.replayed))
    difference = findings.difference
    if difference is None:
        lines.append(f"{findings.messages} messages, and the state at the end: both replays are the same")
    else:
        message = difference.first
        counts = " and ".join(str(len(one.outputs)) for one in (difference.first, difference.second))
        lines += [
            f"after {findings.messages} messages that are the same, the replays differ:",
            f"  position        {message.position}",
            f"  template        {message.template}",
            f"  session         {_or_dash(message.session_id)}",
            f"  correlation id  {_or_dash(message.correlation_id)}",
            f"  output          {difference.index + 1} of {counts}",
        ]
        first, second = difference.outputs()
        lines += _pair_text((f"hash seed {_HASH_SEEDS[0]}", first), (f"hash seed {_HASH_SEEDS[1]}, other clock", second))
        lines.append("  usual causes: the order of a set or of hashes, clocks, random numbers, id(), files and environment of a machine")
    return "\n".join(map(printable, lines))


def _pair_text(*pair: tuple[str, Output | None]) -> Iterator[str]:
    start = _window([one for _, one in pair])
    for name, output in pair:
        if output is None:
            yield f"  {name}: nothing"
            continue
        shown = output.data[start : start + _SHOWN_BYTES]
        yield f"  {name}: {output.kind} {output.subject}" + (f", {len(output.data)} bytes" if output.data else "")
        if shown:
            text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in shown)
            yield f"    from byte {start}: {shown.hex(' ')}  |{text}|"


def _window(outputs: list[Output | None]) -> int:
    """Return from which byte on the difference of two outputs is shown."""
    if any(one is None for one in outputs):
        return 0
    first, second = (one.data for one in outputs if one is not None)
    same = next((index for index, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
    return max(0, same - _SHOWN_BEFORE) if first != second else 0


def _or_dash(number: int | None) -> str:
    return "-" if number is None else str(number)


def _as_object(log: MemberLog, snapshot: RecordingLogEntry | None, findings: _Findings) -> dict[str, Any]:
    difference = findings.difference
    return {
        "same": findings.is_same,
        "messages": findings.messages,
        "recording_id": log.recording.recording_id,
        "from_snapshot": None if snapshot is None else {"log_position": snapshot.log_position, "recording_id": snapshot.recording_id},
        "end_position": log.end_position,
        "committed_position": log.committed_position,
        "difference": None
        if difference is None
        else {
            "position": difference.first.position,
            "template": difference.first.template,
            "session_id": difference.first.session_id,
            "correlation_id": difference.first.correlation_id,
            "output": difference.index,
            "outputs": [_output_object(one) for one in difference.outputs()],
        },
        "snapshots": [
            {
                "log_position": one.log_position,
                "recording_id": one.recording_id,
                "same": one.index is None,
                "message": one.index,
                "recorded": _output_object(one.recorded),
                "replayed": _output_object(one.replayed),
            }
            for one in findings.snapshots
        ],
    }


def _output_object(output: Output | None) -> dict[str, Any] | None:
    return None if output is None else {"kind": output.kind, "subject": output.subject, "data": output.data.hex()}
