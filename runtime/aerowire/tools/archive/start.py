"""`aerowire archive start`: runs an archive until it is told to end."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from typing import TYPE_CHECKING

from aerowire.tools.arguments import IDLE_HELP, add_directory_arguments, option_text, properties_of

if TYPE_CHECKING:
    from aerowire.archive.context import ArchiveContext

_THREADING = ("dedicated", "shared")
_IDLE_ROLES = ("idle_strategy", "recorder_idle_strategy", "replayer_idle_strategy")
# How late it is noticed that the archive has ended with its driver.
_WAIT_S = 0.5
# Hosts of endpoints to which nothing can be sent.
_ANY_ADDRESS = ("", "0.0.0.0", "[::]")

EXAMPLES = """\
Examples:
  aerowire archive start --archive-dir recordings --control aeron:udp?endpoint=localhost:8010
  aerowire archive start -Daeron.archive.file.sync.level=1 -Daeron.archive.record.checksum=org.agrona.checksum.Crc32c archive.properties
  aerowire archive start --dir /dev/shm/aeron-me --threading shared -Daeron.archive.control.channel.enabled=false

Runs beside a media driver, ours or another. Without a control channel of its own it takes requests through IPC alone. Options are Aeron's:
aeron.archive.* properties from files, or http:, https: and file: URLs, then -D, which is stronger; for what neither says the environment
(aeron.archive.dir is AERON_ARCHIVE_DIR), then the default. --options lists them all.

Exit codes: 0 ended by Ctrl-C or SIGTERM; 1 ended with its driver; 2 usage, or the archive cannot start.
"""


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `archive start` subcommand."""
    parser = subparsers.add_parser(
        "archive start",
        help="run an archive",
        description="Run an archive until Ctrl-C or SIGTERM. Options come from -D, properties files, and the environment.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_directory_arguments(parser)
    parser.add_argument(
        "properties_files", metavar="PROPERTIES_FILE", nargs="*", help="files or URLs of aeron.* properties; later ones win"
    )
    parser.add_argument("--archive-dir", metavar="DIR", help="directory of the catalog and the recordings")
    parser.add_argument("--control", metavar="CHANNEL", help="channel of requests over the network")
    parser.add_argument(
        "--replication", metavar="CHANNEL", help="channel of what is replicated (default: any port of the control channel's address)"
    )
    parser.add_argument("--threading", choices=_THREADING, type=str.lower, help="how agents are spread over threads")
    parser.add_argument("--idle", metavar="NAME", help=f"idle strategy of every agent: {IDLE_HELP}")
    parser.add_argument("--options", action="store_true", help="list all options with their defaults, and end")
    parser.set_defaults(run=run, is_endless=lambda _arguments: True)


def run(arguments: argparse.Namespace) -> int:
    """Run an archive; returns 0 when it was ended in order, 1 when it ended with its driver."""
    from aerowire.codecs.tables.archive_options import OPTIONS
    from aerowire.tools.exit_codes import DONE, FINDING, USAGE
    from aerowire.tools.stopping import StopPipe, is_stopped

    if arguments.options:
        from aerowire.tools.option_listing import print_options

        print_options(OPTIONS, "archive")
        return DONE
    from aerowire.archive.archive import Archive
    from aerowire.archive.context import ArchiveContext
    from aerowire.base.text import printable
    from aerowire.system.bus_error import explain_bus_errors, survive_bus_errors

    survive_bus_errors()
    explain_bus_errors(USAGE)
    # Files that may be pipes come first, while a signal still ends the command at once.
    properties = _properties(arguments)
    # BEFORE the archive starts: what sees it may end it at once.
    stop = StopPipe()
    context = ArchiveContext(properties=properties)
    _check_runs_by_itself(context)
    with Archive.launch(context) as archive:
        # Modules and options stay until the end: later collections need not look at them again.
        gc.collect()
        gc.freeze()
        if context.print_configuration:
            for name, value in context.options.items():
                print(printable(f"{name}={value}"))
        directory = printable(str(context.archive_path))
        print(f"aerowire archive: pid {os.getpid()}, {context.threading_mode.value}, id {archive.archive_id}, in {directory}", flush=True)
        while not (stopped := is_stopped([stop.reader], _WAIT_S)) and not archive.has_ended:
            continue
        failure = archive.failure
    if stopped:
        return DONE
    print(f"aerowire archive: ended: {'its client was closed' if failure is None else printable(str(failure))}", file=sys.stderr)
    return FINDING


def _properties(arguments: argparse.Namespace) -> dict[str, str]:
    from aerowire.codecs.tables.archive_options import OPTIONS

    properties = properties_of(arguments, arguments.properties_files)
    given = {
        "archive_dir": arguments.archive_dir,
        "control_channel": arguments.control,
        "replication_channel": arguments.replication,
        "threading_mode": None if arguments.threading is None else arguments.threading.upper(),
        **dict.fromkeys(_IDLE_ROLES, arguments.idle),
    }
    for name, value in given.items():
        if value is not None:
            properties[OPTIONS[name].property] = value
    if option_text(properties, OPTIONS["replication_channel"]) is None:
        properties[OPTIONS["replication_channel"].property] = _port_beside(option_text(properties, OPTIONS["control_channel"]))
    return properties


def _port_beside(control_channel: str | None) -> str:
    """Return the channel of a port that the system chooses, at the address by which the archive is reached, or else at this host's own."""
    from aerowire.base.channel_uri import ChannelUri
    from aerowire.base.errors import ChannelError

    try:
        endpoint = None if control_channel is None else ChannelUri.parse(control_channel).get("endpoint")
    except ChannelError:
        endpoint = None  # the start of the archive raises an error for such a channel
    host = "localhost" if endpoint is None else endpoint.rpartition(":")[0]
    return f"aeron:udp?endpoint={'localhost' if host in _ANY_ADDRESS else host}:0"


def _check_runs_by_itself(context: ArchiveContext) -> None:
    from aerowire.base.errors import ConfigurationError
    from aerowire.codecs.tables.archive_options import OPTIONS

    if context.is_invoked:
        raise ConfigurationError(
            "an archive without threads needs a program that invokes it",
            where=OPTIONS["threading_mode"].property,
            expected=" | ".join(_THREADING).upper(),
            actual=context.threading_mode.value,
            hint="INVOKER is for Archive.launch() within a program",
        )
