"""`aerowire cluster describe`, `pid` and `errors`: contents of a member's mark files. Nothing is changed. Aeron: ClusterTool."""

from __future__ import annotations

import argparse
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from aerowire.tools.cluster.cluster_command import add_command, member_of
from aerowire.tools.directory_command import Subparsers, show, show_json

if TYPE_CHECKING:
    from aerowire.cluster.files.mark_header import ClusterMarkHeader
    from aerowire.cluster.files.member_directory import MarkFileState
    from aerowire.ipc.error_log import ErrorObservation


def describe_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster describe`."""
    add_command(
        subparsers,
        "describe",
        run_describe,
        purpose="show the mark files of a member and its services",
        description="Show the mark files of a member's consensus module, or of a backup, and of the services: times, ids and channels.",
        examples=("node0/cluster", "node0/cluster --json"),
        done="shown, whether the member runs or not",
    )


def pid_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster pid`."""
    add_command(
        subparsers,
        "pid",
        run_pid,
        purpose="print the process id of a member",
        description="Print the process id that is in the mark file of a member, whether the process runs or not.",
        examples=("node0/cluster",),
    )


def errors_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster errors`."""
    add_command(
        subparsers,
        "errors",
        run_errors,
        purpose="show the distinct errors of a member, its services and its driver",
        description="Show the error logs in the mark files of a member's consensus module and services, and that of the driver that the "
        "mark file names. Errors of an earlier run are in files beside the mark files.",
        examples=("node0/cluster", "node0/cluster --json"),
        done="shown, whether there are errors or not",
    )


def run_describe(arguments: argparse.Namespace) -> int:
    """Show mark files; returns 0."""
    member = member_of(arguments)
    if arguments.json:
        show_json({"component": _mark_object(member.component.header), "services": [_mark_object(one.header) for one in member.services]})
        return 0
    for state in (member.component, *member.services):
        show(_type_and_times(state.header))
        show(_mark_text(state.header))
    return 0


def run_pid(arguments: argparse.Namespace) -> int:
    """Print the process id; returns 0."""
    pid = member_of(arguments).pid
    if arguments.json:
        show_json({"pid": pid})
    else:
        show(str(pid))
    return 0


def run_errors(arguments: argparse.Namespace) -> int:
    """Show the errors of a member, its driver and its services; returns 0."""
    from aerowire.base.text import printable
    from aerowire.tools.driver.distinct_errors import driver_errors, errors_text

    member = member_of(arguments)
    directory = member.component.header.aeron_directory
    of_driver, reason = driver_errors(directory)
    if arguments.json:
        driver = {"directory": directory, "errors": [one._asdict() for one in of_driver], "unreadable": reason}
        services = [_errors_object(one) for one in member.services]
        show_json({"component": _errors_object(member.component), "driver": driver, "services": services})
        return 0
    _show_errors(member.component)
    show(f"\nAeron driver error log (directory: {printable(directory)}):")
    show(errors_text(of_driver) if reason is None else printable(reason))
    for state in member.services:
        _show_errors(state)
    return 0


def _show_errors(state: MarkFileState) -> None:
    from aerowire.tools.driver.distinct_errors import errors_text

    show(_type_and_times(state.header))
    show("Cluster component error log:")
    show(errors_text(_errors_of(state)))


def _errors_of(state: MarkFileState) -> list[ErrorObservation]:
    from aerowire.ipc.error_log import scan_errors

    return scan_errors(state.error_log)[0]


def _errors_object(state: MarkFileState) -> dict[str, Any]:
    errors = [one._asdict() for one in _errors_of(state)]
    return {"component_type": state.header.component_type.name, "service_id": state.header.service_id, "errors": errors}


def _type_and_times(header: ClusterMarkHeader) -> str:
    from aerowire.tools.terminal.flyweight_text import times_text

    times = times_text(time.time_ns() // 1_000_000, header.start_timestamp_ms, header.activity_timestamp_ms)
    return f"Type: {header.component_type.name} {times}"


def _mark_text(header: ClusterMarkHeader) -> str:
    from aerowire.codecs.flyweights.cluster_mark import MarkFileHeader, MarkFileHeaderDecoder
    from aerowire.tools.terminal.flyweight_text import flyweight_text

    # In the order of the schema, as the official tool has them.
    names = [one.name for one in fields(MarkFileHeader)]
    values = {name: getattr(header, f"{name}_ms" if name.endswith("timestamp") else name) for name in names}
    return flyweight_text("MarkFileHeader", MarkFileHeaderDecoder, values, header.schema_version)


def _mark_object(header: ClusterMarkHeader) -> dict[str, Any]:
    values = {one.name: getattr(header, one.name) for one in fields(header)}
    return values | {"component_type": header.component_type.name}
