"""Common parts of the commands on a member's directory: arguments, mark files, connections, and the check that no member uses it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.tools.arguments import seconds
from aerowire.tools.directory_command import Subparsers, add_family_parser, system_files, tell_of

if TYPE_CHECKING:
    from aerowire.archive import AeronArchive
    from aerowire.base.errors import ConfigurationError
    from aerowire.client import Aeron
    from aerowire.cluster.files.mark_header import ClusterMarkHeader
    from aerowire.cluster.files.member_directory import MemberDirectory

_CODES = "Exit codes: 0 {done}; 1 {finding}; 2 usage, or something that cannot be read{reached}."
_TIMEOUT_S = 1.0


def add_command(
    subparsers: Subparsers[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    purpose: str,
    description: str,
    examples: Iterable[str],
    done: str = "done",
    finding: str = "interrupted before it was done",
    reached: str = "",
) -> argparse.ArgumentParser:
    """Add `cluster NAME` with its directory and --json; return the parser for the rest."""
    notes = _CODES.format(done=done, finding=finding, reached=reached)
    parser = add_family_parser(subparsers, "cluster", name, run, purpose=purpose, description=description, examples=examples, notes=notes)
    parser.add_argument("directory", metavar="DIR", help="the cluster directory of a member, ours or an official one")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def add_running_command(
    subparsers: Subparsers[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    purpose: str,
    description: str,
    done: str,
    finding: str,
    timeout_s: float = _TIMEOUT_S,
) -> argparse.ArgumentParser:
    """Add `cluster NAME` for a member that runs, with --timeout; return the parser for the rest."""

    def run_in_time(arguments: argparse.Namespace) -> int:
        if arguments.timeout is None:
            arguments.timeout = int(str(tool_options()["tool_timeout_ns"])) / 1e9 or timeout_s
        return run(arguments)

    parser = add_command(
        subparsers,
        name,
        run_in_time,
        purpose=purpose,
        description=description,
        examples=("node0/cluster", "node0/cluster --json"),
        done=done,
        finding=finding,
        reached=", or reached",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        help=f"wait so long for the member (default: {timeout_s:g}, or AERON_CLUSTER_TOOL_TIMEOUT of the environment)",
    )
    return parser


def tool_options() -> Mapping[str, object]:
    """Return the options of the cluster's tool by name, which the environment may set."""
    from aerowire.base.options import resolve_options

    return resolve_options({"cluster-tool"}, {}, {}, None)


def add_force_argument(parser: argparse.ArgumentParser) -> None:
    """Add --force to a command that changes files of a member."""
    parser.add_argument("--force", action="store_true", help="also if a member seems to run in the directory")


def require_unused(arguments: argparse.Namespace) -> None:
    """Raise ActiveClusterError where a member runs in the directory, unless that is forced."""
    from aerowire.agents.mark_life import check_unused
    from aerowire.cluster.files.mark_header import mark_kind
    from aerowire.codecs.flyweights.cluster_mark import ClusterComponentType
    from aerowire.system.ports import Ports

    if not arguments.force:
        check_unused(mark_kind(ClusterComponentType.CONSENSUS_MODULE), Path(arguments.directory), Ports.system())


def member_of(arguments: argparse.Namespace) -> MemberDirectory:
    """Return the mark files of the member. Raises ConfigurationError where there are none."""
    from aerowire.base.errors import ConfigurationError, MissingFileError
    from aerowire.cluster.files.member_directory import describe_member
    from aerowire.codecs.flyweights.cluster_files import CLUSTER_MARK_FILE_NAME

    try:
        return describe_member(system_files(), Path(arguments.directory))
    except MissingFileError as error:
        raise ConfigurationError(
            f"{CLUSTER_MARK_FILE_NAME} does not exist",
            where=arguments.directory,
            expected="the cluster directory of a member",
            hint="it is what aeron.cluster.dir says; a member that `aerowire cluster start --node-dir DIR` runs has DIR/cluster",
        ) from error


def connect_to_driver(header: ClusterMarkHeader) -> Aeron:
    """Connect to the driver of a member. Raises ConfigurationError where it does not run."""
    from aerowire.base.directory import CNC_FILE_NAME
    from aerowire.base.errors import DriverError
    from aerowire.tools.connection import connect

    try:
        if not system_files().exists(Path(header.aeron_directory) / CNC_FILE_NAME):  # which connecting would wait for
            raise _not_running(header, f"no {CNC_FILE_NAME}")
        return connect("aerowire cluster", aeron_dir=header.aeron_directory)
    except DriverError as error:
        raise _not_running(header, error.what) from error


@contextmanager
def connect_to_archive(header: ClusterMarkHeader) -> Iterator[AeronArchive]:
    """Connect to the archive of a member, by the member's driver. Raises ConfigurationError where the driver does not run."""
    from aerowire.archive import AeronArchive
    from aerowire.base.channel_uri import IPC_CHANNEL

    with (
        connect_to_driver(header) as aeron,
        AeronArchive.connect(
            aeron=aeron,
            control_request_channel=IPC_CHANNEL,
            control_request_stream_id=header.archive_stream_id,
            control_response_channel=IPC_CHANNEL,
        ) as archive,
    ):
        yield archive


def _not_running(header: ClusterMarkHeader, actual: str) -> ConfigurationError:
    from aerowire.base.errors import ConfigurationError

    return ConfigurationError(
        "the member does not run: its media driver cannot be reached",
        where=header.aeron_directory,
        expected="the driver that the mark file names",
        actual=actual,
        hint="start the member by: aerowire cluster start",
    )


def tell(text: object) -> None:
    """Print a line on standard error."""
    tell_of("cluster", text)
