"""`aerowire driver`: runs a media driver until it is told to end."""

from __future__ import annotations

import argparse
import os
import signal
import stat
import sys
import threading

from aerowire.tools.arguments import add_directory_arguments, properties_of

_THREADING = ("dedicated", "shared_network", "shared")
_IDLE_ROLES = ("sender", "receiver", "conductor", "shared", "sharednetwork")

# A signal handler runs between two waits, so this bounds how late Ctrl-C is noticed where waits cannot be interrupted.
_WAIT_S = 0.5


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "driver",
        help="run a media driver",
        description="Run a media driver until Ctrl-C or SIGTERM. Options come from -D, properties files, and the environment.",
    )
    add_directory_arguments(parser)
    parser.add_argument("properties_files", metavar="PROPERTIES_FILE", nargs="*", help="files of aeron.* properties; later ones win")
    parser.add_argument("--threading", choices=_THREADING, type=str.lower, help="how agents are spread over threads")
    parser.add_argument("--idle", metavar="NAME", help="idle strategy of every agent: backoff, busy-spin, yielding, sleeping, ...")
    parser.add_argument("--capture", metavar="FILE", help="write every datagram to FILE (.pcapng, or .pcap)")
    parser.add_argument("--delete-on-start", action="store_true", help="remove what another driver left, even a live one")
    parser.add_argument("--delete-on-shutdown", action="store_true", help="remove the directory at the end")
    parser.add_argument("--spawned", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run a driver; returns 0 when it was ended in order, 1 when its capture is not complete."""
    from aerowire.base.errors import AerowireError
    from aerowire.driver.context import Context
    from aerowire.driver.media_driver import MediaDriver
    from aerowire.driver.spawned import ERROR_MARK

    stop = _stop_on_signals()
    try:
        context = Context(properties=_properties(arguments), capture=arguments.capture)
        driver = MediaDriver(context)
    except AerowireError as error:
        if arguments.spawned:
            print(f"{ERROR_MARK}{type(error).__name__}: {error}", file=sys.stderr)
            return 2
        raise
    with driver:
        if arguments.spawned:
            _stop_with_standard_input(stop)
        if context.print_configuration:
            for name, value in context.options.items():
                print(f"{name}={value}")
        print(f"aerowire driver: pid {os.getpid()}, {context.threading_mode.value}, in {driver.aeron_dir}", flush=True)
        # A client may end the driver too, through its registrar.
        while not stop.wait(_WAIT_S) and not driver.wait_for_termination(0):
            pass
    try:
        driver.check_capture()
    except AerowireError as error:
        print(f"aerowire driver: {error}", file=sys.stderr)
        return 1
    return 0


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


def _stop_on_signals() -> threading.Event:
    # Installed BEFORE the driver starts: whoever sees its directory may already want it to end.
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    return stop


def _stop_with_standard_input(stop: threading.Event) -> None:
    # A spawning process holds the other end of a pipe; the system closes it however that process ends.
    if not stat.S_ISFIFO(os.fstat(0).st_mode):
        return

    def watch() -> None:
        while os.read(0, 1):
            pass
        stop.set()

    threading.Thread(target=watch, name="aeron-md-parent", daemon=True).start()
