"""`aerowire cluster recovery-plan`: from which snapshots, and which part of the log, a member would recover. Aeron: ClusterTool."""

from __future__ import annotations

import argparse
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.tools.arguments import count_or_none
from aerowire.tools.cluster.cluster_command import add_command, connect_to_archive, member_of
from aerowire.tools.cluster.recording_log import open_recording_log
from aerowire.tools.directory_command import Subparsers, show, show_json, system_files
from aerowire.tools.terminal.flyweight_text import camel_case

if TYPE_CHECKING:
    from aerowire.cluster.files.recovery_plan import Log, RecordingExtent, RecoveryPlan
    from aerowire.cluster.files.snapshot_sets import Snapshot


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster recovery-plan`."""
    parser = add_command(
        subparsers,
        "recovery-plan",
        run,
        purpose="show from which snapshots, and which part of the log, a member would recover",
        description="Show from which snapshots, and which part of the log behind them, a member would recover. What is recorded of the log "
        "is asked of the member's archive, which must run; or read from the directory of the archive, whether it runs or not.",
        examples=("node0/cluster 1 --archive-dir node0/archive", "node0/cluster", "node0/cluster --json"),
        done="shown",
        reached=", or there is no complete set of snapshots, or the archive cannot be reached",
    )
    parser.add_argument(
        "service_count", metavar="SERVICE_COUNT", nargs="?", type=count_or_none, help="services of the member (default: its mark files)"
    )
    parser.add_argument("--archive-dir", metavar="DIR", help="read the catalog in this directory instead of asking the archive")


def run(arguments: argparse.Namespace) -> int:
    """Show the plan; returns 0. Raises RecordingLogError where there can be none."""
    service_count = arguments.service_count
    if service_count is None:
        service_count = len(member_of(arguments).services)
    with open_recording_log(Path(arguments.directory)) as log:
        recording_id = log.recording_of_plan()
        extent = None if recording_id is None else _extent(arguments, recording_id)
        plan = log.create_recovery_plan(service_count, extent)
    if arguments.json:
        show_json(asdict(plan))
    else:
        show(plan_text(plan))
    return 0


def plan_text(plan: RecoveryPlan) -> str:
    """Return a plan as the official tool prints it."""
    snapshots = ", ".join(map(_record_text, plan.snapshots))
    log = "null" if plan.log is None else _record_text(plan.log)
    values = {one.name: getattr(plan, one.name) for one in fields(plan)} | {"snapshots": f"[{snapshots}]", "log": log}
    return _text("RecoveryPlan", values)


def _record_text(record: Snapshot | Log) -> str:
    return _text(type(record).__name__, {one.name: getattr(record, one.name) for one in fields(record)})


def _text(name: str, values: dict[str, object]) -> str:
    return f"{name}[{', '.join(f'{camel_case(field)}={value}' for field, value in values.items())}]"


def _extent(arguments: argparse.Namespace, recording_id: int) -> RecordingExtent | None:
    """Return the extent of the recorded log; None if the archive does not know the recording."""
    if arguments.archive_dir is not None:
        return _extent_in(Path(arguments.archive_dir), recording_id)
    with connect_to_archive(member_of(arguments).component.header) as archive:
        return next(iter(archive.list_recording(recording_id)), None)


def _extent_in(directory: Path, recording_id: int) -> RecordingExtent:
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.archive.files.recorded_frames import recorded_end

    with OfflineCatalog(system_files(), directory) as catalog:
        entry = catalog.entry(recording_id)
    return replace(entry, stop_position=recorded_end(system_files(), directory, entry))
