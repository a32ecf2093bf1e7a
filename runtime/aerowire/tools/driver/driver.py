"""`aerowire driver`: runs a media driver until it is told to end."""

from __future__ import annotations

import argparse
import gc
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from aerowire.tools.arguments import IDLE_HELP, add_directory_arguments, properties_of

if TYPE_CHECKING:
    from aerowire.driver.context import Context

_THREADING = ("dedicated", "shared_network", "shared")
_IDLE_ROLES = ("sender", "receiver", "conductor", "shared", "sharednetwork")

# How late the end of a driver is noticed that a client has asked for, through its conductor.
_WAIT_S = 0.5

EXAMPLES = """\
Examples:
  aerowire driver
  aerowire driver --dir /dev/shm/aeron-me --threading shared --delete-on-shutdown
  aerowire driver -Daeron.term.buffer.length=64k -Daeron.client.liveness.timeout=2s low-latency.properties
  aerowire driver --capture traffic.pcapng
  aerowire driver pid --help
  aerowire driver idle --help
  aerowire driver terminate --help

Options are Aeron's: aeron.* properties from files, or http:, https: and file: URLs, then -D, which is stronger; for what neither says
the environment (aeron.term.buffer.length is AERON_TERM_BUFFER_LENGTH), then the default. An aeron.* property that nobody has is an error.
--options lists them all; -Daeron.print.configuration=true prints what came of it.

Exit codes: 0 ended by Ctrl-C, SIGTERM or a client; 1 the capture is not complete; 2 usage, or the driver cannot start.
"""


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "driver",
        help="run a media driver",
        description="Run a media driver until Ctrl-C or SIGTERM. Options come from -D, properties files, and the environment.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_directory_arguments(parser)
    parser.add_argument(
        "properties_files", metavar="PROPERTIES_FILE", nargs="*", help="files or URLs of aeron.* properties; later ones win"
    )
    parser.add_argument("--threading", choices=_THREADING, type=str.lower, help="how agents are spread over threads")
    parser.add_argument("--idle", metavar="NAME", help=f"idle strategy of every agent: {IDLE_HELP}")
    parser.add_argument("--capture", metavar="FILE", help="write every datagram to FILE (.pcapng, or .pcap), which must not be there yet")
    parser.add_argument("--capture-overwrite", action="store_true", help="replace the file of --capture if it is there")
    parser.add_argument("--delete-on-start", action="store_true", help="remove what another driver left, even a live one")
    parser.add_argument("--delete-on-shutdown", action="store_true", help="remove the directory at the end")
    parser.add_argument("--options", action="store_true", help="list all options with their defaults, and end")
    parser.add_argument("--spawned", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(run=run, is_endless=lambda _arguments: True)


def run(arguments: argparse.Namespace) -> int:
    """Run a driver; returns 0 when it was ended in order, 1 when its capture is not complete."""
    if arguments.options:
        from aerowire.codecs.tables.options import OPTIONS
        from aerowire.tools.option_listing import print_options

        print_options(OPTIONS, "driver")
        return 0
    from aerowire.base.errors import AerowireError
    from aerowire.base.text import printable
    from aerowire.driver.context import Context
    from aerowire.driver.media_driver import MediaDriver
    from aerowire.driver.spawned import ERROR_MARK
    from aerowire.system.bus_error import explain_bus_errors, survive_bus_errors
    from aerowire.tools.exit_codes import USAGE
    from aerowire.tools.stopping import StopPipe, is_stopped
    from aerowire.tools.terminal.figures import printable_error

    survive_bus_errors()
    explain_bus_errors(USAGE)
    try:
        # Files that may be pipes come first, while a signal still ends the command at once.
        properties = _properties(arguments)
        with _capture_reader(arguments.capture):
            # BEFORE the driver starts: a client that sees its directory may end it at once.
            stop = StopPipe()
            context = Context(properties=properties, capture=arguments.capture, capture_overwrite=arguments.capture_overwrite)
            _check_runs_by_itself(context)
            driver = MediaDriver(context)
    except AerowireError as error:
        if arguments.spawned:
            print(f"{ERROR_MARK}{type(error).__name__}: {error}", file=sys.stderr)
            return 2
        raise
    with driver:
        # Modules and options stay until the end: later collections need not look at them again.
        gc.collect()
        gc.freeze()
        if context.print_configuration:
            for name, value in context.options.items():
                print(printable(f"{name}={value}"))
        print(f"aerowire driver: pid {os.getpid()}, {context.threading_mode.value}, in {printable(str(driver.aeron_dir))}", flush=True)
        ends = [stop.reader, *_spawner(arguments)]
        while not is_stopped(ends, _WAIT_S) and not driver.wait_for_termination(0):
            continue
    try:
        driver.check_capture()
    except AerowireError as error:
        print(f"aerowire driver: {printable_error(error)}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def _capture_reader(path: str | None) -> Iterator[None]:
    """Wait for the reader of a pipe that datagrams are captured to, and keep the pipe open so that the reader sees no end of it."""
    descriptor = -1
    # Whatever is wrong with the file is said where the capture is opened.
    with suppress(OSError):
        if path is not None and stat.S_ISFIFO(os.lstat(path).st_mode):
            descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _properties(arguments: argparse.Namespace) -> dict[str, str]:
    from aerowire.codecs.tables.options import OPTIONS

    properties = properties_of(arguments, arguments.properties_files)
    if arguments.threading is not None:
        properties[OPTIONS["threading_mode"].property] = arguments.threading.upper()
    if arguments.idle is not None:
        for role in _IDLE_ROLES:
            properties[OPTIONS[f"{role}_idle_strategy"].property] = arguments.idle
    if arguments.delete_on_start:
        properties[OPTIONS["dir_delete_on_start"].property] = "true"
    if arguments.delete_on_shutdown:
        properties[OPTIONS["dir_delete_on_shutdown"].property] = "true"
    return properties


def _check_runs_by_itself(context: Context) -> None:
    from aerowire.base.errors import ConfigurationError
    from aerowire.codecs.tables.options import OPTIONS
    from aerowire.driver.context import ThreadingMode

    if context.threading_mode is ThreadingMode.INVOKER:
        raise ConfigurationError(
            "a driver without threads needs a program that invokes it",
            where=OPTIONS["threading_mode"].property,
            expected=" | ".join(_THREADING).upper(),
            actual=context.threading_mode.value,
            hint="INVOKER is for MediaDriver.launch() within a program",
        )


def _spawner(arguments: argparse.Namespace) -> list[int]:
    # A spawning process holds the other end of a pipe; the system closes it however that process ends.
    return [0] if arguments.spawned and stat.S_ISFIFO(os.fstat(0).st_mode) else []
