"""`aerowire demo`: two drivers, a million messages over a lossy network, captured, read back with Spark, replayed.

The whole path in one go. Every step is a process of its own, started with the commands that a user has: this module
starts them and compares what they say. It knows no layout, no capture format and no verdict.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.base.ownership import check_private_folder
from aerowire.system.file_system import FileSystem
from aerowire.tools.arguments import count, share
from aerowire.tools.demo.demo_requirements import SHARED_MEMORY, check_java, check_packages, memory_folder
from aerowire.tools.demo.demo_stage import DemoError, Stage
from aerowire.tools.demo.demo_traffic import LENGTH_MAX, LENGTH_MIN

if TYPE_CHECKING:
    import subprocess

    from rich.console import Console

MESSAGES = 1_000_000
REPLAYED = 20_000
LOSS_RATE = 0.02
SEED = 20260229
# Bytes of disk for each byte of message: headers, retransmissions and the capture's own records.
CAPTURE_OVERHEAD = 1.25
SETTLE_S = 0.5
# Columns of the report where it does not go to a terminal.
PAGE_WIDTH = 120
# A sender whose window is used up waits for the next status message; when that one is lost too, for this long. With the default of
# 200 ms such waits are half of the demo's time.
STATUS_TIMEOUT = "10ms"
# The kernel drops what finds a full buffer, and no counter says so: a driver that waits for the processor still has room for the NAKs of
# a second or two.
RECEIVE_BUFFER_LENGTH = 2 << 20
# The demo needs few counters; the default of 8 MiB makes a directory of 46 MiB, and a container may have 64 MiB of shared memory in all.
COUNTERS_LENGTH = "1m"
CAPTURE_NAME = "publisher.pcapng"
LOG_SUFFIX = ".log"
EXAMPLES = """\
Examples:
  aerowire demo
  aerowire demo --messages 100000 --loss 0.05 --seed 7
  aerowire demo --folder /tmp/my-demo

Needs a Java for Spark, 40 MiB in /dev/shm (else the driver directories go into the temporary folder), and room for the capture:
1.3 GB for a million messages. The capture and the logs of the processes stay for you to look at, until the next demo replaces them;
the last lines of the output say how to remove them.

Exit codes: 0 everything agrees; 1 something does not, or interrupted; 2 usage, no space, or a step that failed.
"""
AEROWIRE = (sys.executable, "-m", "aerowire.tools.main")
TRAFFIC = (sys.executable, "-m", "aerowire.tools.demo.demo_traffic")
CONFORMANCE = (sys.executable, "-m", "aerowire.conformance.main")


@dataclass(frozen=True)
class Check:
    """Two figures that must be equal, and where each comes from."""

    what: str
    left: tuple[str, object]
    right: tuple[str, object]

    @property
    def holds(self) -> bool:
        return self.left[1] == self.right[1]


@dataclass(frozen=True)
class Outcome:
    """What the two clients and the two drivers said."""

    publisher: dict[str, Any]
    subscriber: dict[str, Any]
    sending: dict[str, int]
    receiving: dict[str, int]


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `demo` to the `aerowire` command."""
    parser = subparsers.add_parser(
        "demo",
        help="a million messages over a lossy network, captured, read back and replayed",
        description="Send a million messages from one driver to another over a lossy network, capture them,\nread the capture back with "
        "Spark, replay its start through the conformance suite,\nand compare what all of them say.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--messages", metavar="N", type=count, default=MESSAGES, help="how many messages to send (default: %(default)s)")
    parser.add_argument(
        "--loss",
        metavar="SHARE",
        type=share,
        default=LOSS_RATE,
        help="part of the datagrams that is dropped, each way (default: %(default)s)",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=SEED, help="decides messages and losses (default: %(default)s)")
    parser.add_argument(
        "--folder", metavar="DIR", type=Path, help="where the capture and the logs go (default: aerowire-demo-UID in the temporary folder)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; return 0 when everything agrees, 1 when something does not."""
    from rich.console import Console

    check_packages()
    check_java()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    folder = arguments.folder or Path(tempfile.gettempdir()) / f"aerowire-demo-{os.getuid()}"
    need = make_room(folder, arguments.messages)
    memory = memory_folder()
    if memory != SHARED_MEMORY:
        console.print(f"/dev/shm is too small: the driver directories are made in {memory}, which may be slower", soft_wrap=True)
    console.print(f"The capture takes {need / 1e9:.2g} GB in {folder} and stays there.", soft_wrap=True)
    capture = folder / CAPTURE_NAME
    started = time.monotonic()
    with Stage(console, folder, memory) as stage:
        outcome = send(stage, capture, arguments)
        summary = stage.answer("read the capture with Spark", [*AEROWIRE, "pcap", "summary", str(capture), "--json", "--engine", "spark"])
        replay_command = [*CONFORMANCE, "replay", str(capture), "--limit", str(REPLAYED), "--json"]
        replay_command += ["--dir", str(stage.memory / "replay"), *counters_option()]
        replay = stage.answer(f"replay {REPLAYED:,} datagrams", replay_command, codes=(0, 1))
    checks = compare(outcome, summary, replay)
    report(console, outcome, summary, checks)
    console.print(f"\n{sum(check.holds for check in checks)} of {len(checks)} comparisons hold, {time.monotonic() - started:.0f} s in all")
    point_onward(console, capture)
    return 0 if all(check.holds for check in checks) else 1


def make_room(folder: Path, messages: int) -> int:
    """Make the demo's folder, remove the files of an earlier demo, and return the number of bytes that the capture needs.

    Raises DemoError when the folder holds other files, cannot be used, or has no room for the capture, and ForeignDirectoryError when it is
    a link, or others may write to it.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        check_private_folder(FileSystem(), folder)
        found = list(folder.iterdir())
        strangers = sorted(path.name for path in found if path.name != CAPTURE_NAME and path.suffix != LOG_SUFFIX)
        if strangers:
            raise DemoError(
                "the folder holds files that are not a demo's",
                where=folder,
                expected="an empty folder, or one of an earlier demo",
                actual=", ".join(strangers[:3]),
                hint="choose another --folder; nothing was deleted",
            )
        for path in found:
            path.unlink()
    except OSError as error:
        raise DemoError("the folder cannot be used", where=folder, actual=error.strerror or str(error), hint="choose a --folder") from None
    need = int(messages * (LENGTH_MIN + LENGTH_MAX) / 2 * CAPTURE_OVERHEAD)
    if (free := shutil.disk_usage(folder).free) < need:
        raise DemoError("no space for the capture", where=folder, expected=f"{need:,} bytes", actual=f"{free:,}", hint="choose a --folder")
    return need


def send(stage: Stage, capture: Path, arguments: argparse.Namespace) -> Outcome:
    """Send the messages from one driver to the other; all loss and the capture are at the publisher's driver."""
    from aerowire.codecs.tables.options import OPTIONS
    from aerowire.system.udp import probe_socket_buffers

    rates = ("debug_send_data_loss_rate", "debug_send_control_loss_rate")
    seeds = ("debug_send_data_loss_seed", "debug_send_control_loss_seed")
    lossy = {**dict.fromkeys(rates, arguments.loss), **dict.fromkeys(seeds, arguments.seed)}
    losses = [f"-D{OPTIONS[name].property}={value}" for name, value in lossy.items()]
    sending, receiving = stage.memory / "sending", stage.memory / "receiving"
    threading = f"-D{OPTIONS['threading_mode'].property}=SHARED"
    status = f"-D{OPTIONS['rcv_status_message_timeout_ns'].property}={STATUS_TIMEOUT}"
    # Linux reports twice what may be asked for.
    buffer = f"-D{OPTIONS['socket_so_rcvbuf'].property}={min(RECEIVE_BUFFER_LENGTH, probe_socket_buffers().receive_max // 2)}"
    common = (threading, buffer, *counters_option())
    drivers = {
        "sending driver": stage.start("sending driver", driver_command(sending, *common, *losses, "--capture", str(capture))),
        "receiving driver": stage.start("receiving driver", driver_command(receiving, *common, status)),
    }
    # A publisher may be half a term ahead of its subscriber: short terms keep what waits, and with it the latency, small.
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=1m"
    figures = (channel, str(arguments.messages), str(arguments.seed))
    clients = {
        "subscriber": stage.start("subscriber", [*TRAFFIC, "subscribe", str(receiving), *figures]),
        "publisher": stage.start("publisher", [*TRAFFIC, "publish", str(sending), *figures]),
    }
    try:
        said = follow(stage, clients, drivers, arguments.messages)
    except DemoError as error:
        raise with_driver_errors(error, {"sending driver": sending, "receiving driver": receiving}) from None
    time.sleep(SETTLE_S)
    counted = [read_counters(folder) for folder in (sending, receiving)]
    for child in (*reversed(clients.values()), *drivers.values()):
        stage.stop(child)
    for name, child in drivers.items():
        if child.returncode:
            raise stage.failed(name, child)
    for folder in (sending, receiving):
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(said["publisher"], said["subscriber"], *counted)


def counters_option() -> list[str]:
    """Return the arguments that make a driver's counters small."""
    from aerowire.codecs.tables.options import OPTIONS

    return [f"-D{OPTIONS['counters_buffer_length'].property}={COUNTERS_LENGTH}"]


def driver_command(directory: Path, *arguments: str) -> list[str]:
    return [*AEROWIRE, "driver", "--dir", str(directory), *arguments]


def follow(
    stage: Stage, clients: dict[str, subprocess.Popen[bytes]], drivers: dict[str, subprocess.Popen[bytes]], messages: int
) -> dict[str, dict[str, Any]]:
    """Show the subscriber's progress until both clients have told their results; return those.

    Raises DemoError as soon as a process ends before that.
    """
    task = stage.progress.add_task("send, lose, recover, compare", total=messages, note="")
    results: dict[str, dict[str, Any]] = {}
    for name, said in stage.objects({**drivers, **clients}):
        if said is None:
            if name not in results:
                child = {**drivers, **clients}[name]
                stage.stop(child)
                raise stage.failed(name, child)
        elif name == "subscriber" and "progress" in said:
            stage.progress.update(task, completed=said["progress"], note=f"{said['progress']:>9,} messages")
        elif "messages" in said:
            results[name] = said
            if len(results) == len(clients):
                break
    stage.progress.update(task, completed=messages, note=f"{messages:>9,} messages")
    return results


def with_driver_errors(error: DemoError, directories: dict[str, Path]) -> DemoError:
    """Return the error with what the drivers' error logs hold, which is often the reason why nothing arrives."""
    from aerowire.tools.driver.driver_problems import recent_errors

    found = [f"{name}: {text}" for name, directory in directories.items() for text in recent_errors(directory)]
    return DemoError(f"{error}; the drivers' error logs: {'; '.join(found)}") if found else error


def read_counters(directory: Path) -> dict[str, int]:
    """Return the system counters of a driver's directory by name."""
    from aerowire.base.directory import CNC_FILE_NAME
    from aerowire.codecs.tables.counters import SystemCounter
    from aerowire.ipc.cnc import CncFile

    cnc = CncFile.map(str(directory / CNC_FILE_NAME), writable=False)
    try:
        counters = cnc.counters_reader()
        return {counter.name: counters.value(counter.value) for counter in SystemCounter}
    finally:
        cnc.close()


def free_port() -> int:
    """Return a UDP port of the loopback interface that is free now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def compare(outcome: Outcome, summary: dict[str, Any], replay: dict[str, Any]) -> list[Check]:
    """Return every pair of figures that must be equal."""
    sending, receiving = outcome.sending, outcome.receiving
    naks_received = sending["NAK_MESSAGES_RECEIVED"]
    return [
        Check("messages", ("sent", outcome.publisher["messages"]), ("received, every byte compared", outcome.subscriber["messages"])),
        Check("bytes", ("sent", outcome.publisher["bytes"]), ("received", outcome.subscriber["bytes"])),
        Check("NAKs on the wire", ("capture", summary["naks"]), ("receiving driver sent", receiving["NAK_MESSAGES_SENT"])),
        Check("NAKs not lost", ("capture", summary["naks"] - summary["naks_dropped"]), ("sending driver received", naks_received)),
        Check("retransmitted bytes", ("capture", summary["retransmitted_bytes"]), ("sending driver", sending["RETRANSMITTED_BYTES"])),
        Check("replay of the capture's start", ("conformance", replay["verdict"]), ("expected", "pass")),
    ]


def report(console: Console, outcome: Outcome, summary: dict[str, Any], checks: Sequence[Check]) -> None:
    """Print the figures and the comparisons."""
    from rich.table import Table

    sent, got = outcome.publisher, outcome.subscriber
    rate = f"{sent['messages'] / sent['seconds']:,.0f} messages/s, {sent['bytes'] / sent['seconds'] / 1e6:,.0f} MB/s"
    figures = Table(show_header=False, box=None)
    figures.add_row("throughput", f"{rate} over UDP, {sent['seconds']:.1f} s, with loss and capture")
    latency = " · ".join(f"{name} {got[f'{name}_us'] / 1e3:,.2f} ms" for name in ("p50", "p90", "p99", "max"))
    figures.add_row("latency, one way, at full load", latency)
    figures.add_row(
        "capture", f"{summary['packets']:,} datagrams, " + ", ".join(f"{n:,} {kind}" for kind, n in summary["frames_by_type"].items())
    )
    console.print(figures)
    table = Table("must be equal", "one side")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("other side")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("")
    for check in checks:
        cells = [f"{value:,}" if isinstance(value, int) else str(value) for value in (check.left[1], check.right[1])]
        table.add_row(
            check.what, check.left[0], cells[0], check.right[0], cells[1], "[green]equal[/]" if check.holds else "[red]DIFFERENT[/]"
        )
    console.print(table)


def point_onward(console: Console, capture: Path) -> None:
    """Print what stays, how to remove it, and commands to go on with, as they can be typed here."""
    found = shutil.which("aerowire")
    is_on_path = found is not None and Path(found).parent == Path(sys.executable).parent
    prefix = "" if is_on_path else f"{shown_folder(Path(sys.executable).parent)}/"
    length = sum(path.stat().st_size for path in capture.parent.iterdir())
    console.print(
        f"{capture.parent} keeps the capture and every process's log, {length / 1e9:.2g} GB. Remove it with: rm -r {capture.parent}\n"
        "Look next:\n"
        f"  {prefix}aerowire pcap summary {capture}\n"
        f"  {prefix}aerowire driver --dir /dev/shm/aeron-me & sleep 1; {prefix}aerowire stat --dir /dev/shm/aeron-me\n"
        f"  {prefix}conformance run --driver aerowire\n"
        "  README.md, docs/architecture.md",
        soft_wrap=True,
    )


def shown_folder(folder: Path) -> Path:
    """Return a folder as a path from the current one where it is below it."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
