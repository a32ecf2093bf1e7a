"""`aerowire cnc`: all of a driver's cnc file: header, sections, rings, liveness, clients, channels. Aeron: CncFileReader, DriverTool."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerowire.tools.driver.watching import add_watch_arguments

if TYPE_CHECKING:
    from rich.console import RenderableType

    from aerowire.ipc.cnc import CncFile
    from aerowire.ipc.counters import CounterInfo
    from aerowire.tools.driver.clients import Client
    from aerowire.tools.driver.driver_files import DriverFiles, DriverState

EXAMPLES = """\
Examples:
  aerowire cnc
  aerowire cnc --dir /dev/shm/aeron-me --watch 1
  aerowire cnc --json | jq '.clients[] | {name, pids, age_ms}'

The ring to the driver holds commands that it has not taken out yet: one that stays full means that the driver stands still. A client whose
heartbeat is older than the client liveness timeout is about to be given up. Processes of clients are found through what they map.

Exit codes: 0 shown, or ended by a signal with --watch; 1 interrupted before it had shown; 2 usage, or no driver's files there.
"""


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "cnc",
        help="show a driver's cnc file: header, rings, clients, channels",
        description="Show what is in the cnc file, through which a driver and its clients meet.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_watch_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the cnc file; returns 0."""
    from aerowire.tools.driver.watching import show

    return show(arguments, _look)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the file."""

    name: str
    offset: int
    length: int
    note: str


@dataclass(frozen=True, slots=True)
class CncReport:
    """The file at one moment."""

    time_ms: int
    driver: DriverState
    header: dict[str, Any]
    sections: list[Section]
    to_driver: dict[str, int]
    to_clients: dict[str, int]
    clients: list[Client]
    channels: list[CounterInfo]

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "time_ms": self.time_ms,
            "aeron_dir": self.driver.aeron_dir,
            "driver": self.driver.state,
            "heartbeat_ms": self.driver.heartbeat_ms,
            "heartbeat_age_ms": self.driver.age_ms,
            "header": self.header,
            "sections": [{"name": item.name, "offset": item.offset, "length": item.length} for item in self.sections],
            "to_driver": self.to_driver,
            "to_clients": self.to_clients,
            "clients": [{**client.to_dict(), "age_ms": self._age(client)} for client in self.clients],
            "channels": [{"counter_id": item.counter_id, "status": _status(item), "label": item.label} for item in self.channels],
        }

    def render(self) -> RenderableType:
        """Return it for people."""
        from rich.console import Group
        from rich.text import Text

        from aerowire.base.text import printable
        from aerowire.tools.driver.driver_files import ALIVE
        from aerowire.tools.terminal.live_view import head_style

        driver = self.driver
        head = Text(f"{printable(driver.aeron_dir)} - CnC v{driver.version_text}, pid {driver.pid}, {driver.heartbeat_text}")
        head.stylize(head_style("bold" if driver.state == ALIVE else "bold red"))
        parts: list[RenderableType] = [head, self._render_header(), Text(""), self._render_sections(), Text("")]
        parts += [Text(f"{len(self.clients)} clients", style="bold cyan"), self._render_clients(), Text("")]
        parts += [Text(f"{len(self.channels)} channel endpoints", style="bold cyan"), self._render_channels()]
        return Group(*parts)

    def _render_header(self) -> RenderableType:
        from aerowire.base.units import format_duration
        from aerowire.tools.terminal.figures import age_text, grouped, time_text

        started = self.driver.start_timestamp_ms
        rows = (
            ("started", f"{time_text(started)}, {age_text(self.time_ms - started)} ago"),
            ("client liveness timeout", format_duration(self.driver.client_liveness_timeout_ns)),
            ("page size", grouped(self.header["file_page_size"])),
            ("next correlation id", grouped(self.to_driver["correlation_counter"])),
        )
        return _table(rows, ("", ""))

    def _render_sections(self) -> RenderableType:
        from aerowire.tools.terminal.figures import grouped

        rows = [(item.name, grouped(item.offset), grouped(item.length), item.note) for item in self.sections]
        return _table(rows, ("section", "offset", "length", ""))

    def _render_clients(self) -> RenderableType:
        from aerowire.base.text import printable
        from aerowire.tools.terminal.figures import age_text

        liveness_ms = self.driver.client_liveness_timeout_ns // 1_000_000
        rows = []
        for client in self.clients:
            age_ms = self._age(client)
            late = " LATE" if age_ms > liveness_ms else ""
            beat = f"{age_text(age_ms)} ago{late}"
            rows.append((str(client.client_id), printable(client.name), client.pid_text, beat, printable(client.version)))
        return _table(rows, ("client", "name", "pid", "heartbeat", "version"))

    def _render_channels(self) -> RenderableType:
        from aerowire.base.text import printable

        rows = [(str(item.counter_id), _status(item), printable(item.label)) for item in self.channels]
        return _table(rows, ("counter", "status", "channel"))

    def _age(self, client: Client) -> int:
        return self.time_ms - (client.heartbeat_ms or 0)


_NUMBERS = ("offset", "length", "client", "counter", "pid")


def _table(rows: Any, names: tuple[str, ...]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim", show_header=any(names))
    for index, name in enumerate(names):
        table.add_column(name, justify="right" if name in _NUMBERS else "left", no_wrap=index < len(names) - 1)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _look(files: DriverFiles) -> CncReport:
    from aerowire.codecs.tables.counters import CounterType
    from aerowire.tools.driver.clients import clients_of, with_processes

    driver, cnc = files.state(), files.cnc()
    counters = list(cnc.counters_reader().for_each())
    channel_types = {CounterType.SND_CHANNEL, CounterType.RCV_CHANNEL, CounterType.LOCAL_SOCKADDR, CounterType.MDC_NUM_DEST}
    return CncReport(
        time.time_ns() // 1_000_000,
        driver,
        cnc.header,
        _sections(cnc, len(counters)),
        _ring(cnc.to_driver_buffer),
        _broadcast(cnc.to_clients_buffer),
        list(with_processes(clients_of(counters), counters, files.directory, driver.pid).values()),
        [item for item in counters if item.type_id in channel_types],
    )


def _ring(buffer: memoryview) -> dict[str, int]:
    """Return the cursors of the commands' ring, and how much of it is taken."""
    from aerowire.codecs.flyweights.cnc import RingTrailerDecoder

    capacity = len(buffer) - RingTrailerDecoder.ENCODED_LENGTH
    trailer = RingTrailerDecoder(buffer, capacity)
    # The head first: what the driver takes out in between makes the ring look fuller, never emptier than empty.
    head, tail = trailer.head_position, trailer.tail_position
    return {"capacity": capacity, "head": head, "tail": tail, "used": tail - head, "correlation_counter": trailer.correlation_counter}


def _broadcast(buffer: memoryview) -> dict[str, int]:
    """Return the cursors of the news to the clients."""
    from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder

    capacity = len(buffer) - BroadcastTrailerDecoder.ENCODED_LENGTH
    trailer = BroadcastTrailerDecoder(buffer, capacity)
    return {"capacity": capacity, **{name: getattr(trailer, name) for name in trailer.MEMBERS}}


def _sections(cnc: CncFile, counters: int) -> list[Section]:
    from aerowire.codecs.flyweights.cnc import CncFile as Layout
    from aerowire.ipc.error_log import scan_errors
    from aerowire.tools.driver.damage import damage_text
    from aerowire.tools.terminal.figures import grouped, size_text

    header = cnc.header
    layout = Layout(*(header[name] for name in Layout._fields))
    errors, damage = scan_errors(cnc.error_log_buffer)
    damaged = "" if damage is None else f"; {damage_text(damage, 'an error log')}"
    ring, news = _ring(cnc.to_driver_buffer), _broadcast(cnc.to_clients_buffer)
    notes = {
        "header": "",
        "to_driver": f"commands: {size_text(ring['used'])} of {size_text(ring['capacity'])} waiting, {grouped(ring['tail'])} bytes in all",
        "to_clients": f"answers and news: {size_text(news['capacity'])}, {grouped(news['tail'])} bytes in all",
        "counters_metadata": f"{counters} of {cnc.counters_reader().max_count:,} counters in use",
        "counters_values": "",
        "error_log": f"{len(errors)} distinct errors{damaged}",
    }
    return [Section(name, getattr(layout, f"{name}_offset"), getattr(layout, f"{name}_length"), note) for name, note in notes.items()]


def _status(item: CounterInfo) -> str:
    from aerowire.codecs.flyweights.cnc import (
        CHANNEL_STATUS_ACTIVE,
        CHANNEL_STATUS_CLOSING,
        CHANNEL_STATUS_ERRORED,
        CHANNEL_STATUS_INITIALIZING,
    )
    from aerowire.codecs.tables.counters import CounterType

    if item.type_id == CounterType.MDC_NUM_DEST:
        return f"{item.value} destinations"
    names = {
        CHANNEL_STATUS_INITIALIZING: "initialising",
        CHANNEL_STATUS_ACTIVE: "active",
        CHANNEL_STATUS_CLOSING: "closing",
        CHANNEL_STATUS_ERRORED: "errored",
    }
    return names.get(item.value, str(item.value))
