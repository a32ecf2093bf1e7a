"""`aerowire backlog`: what is still to be sent and to be read, stream by stream. Aeron: BacklogStat."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerowire.tools.arguments import count_or_none, stream_id
from aerowire.tools.driver.watching import add_watch_arguments

if TYPE_CHECKING:
    from rich.console import RenderableType

    from aerowire.tools.driver.driver_files import DriverFiles
    from aerowire.tools.streams.stream_look import StreamsSeen
    from aerowire.tools.streams.stream_model import End

EXAMPLES = """\
Examples:
  aerowire backlog
  aerowire backlog --watch 1 --at-least 1
  aerowire backlog --json | jq '.backlogs[] | select(.role == "subscriber") | .bytes'

A sender's backlog is what was written and has not been sent; a subscriber's what was received (or, for IPC and spies, written) and has
not been read. What is left is how much more fits: for a publisher before back pressure, for a sender before flow control stops it. The
largest backlog comes first.

Exit codes: 0 shown, or ended by a signal with --watch; 1 interrupted before it had shown; 2 usage, or no driver's files there.
"""
PUBLISHER, SENDER, RECEIVER, SUBSCRIBER = "publisher", "sender", "receiver", "subscriber"


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "backlog",
        help="show what streams still have to send and to read",
        description="Show what is still to be sent and to be read, for each stream of a driver.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_watch_arguments(parser, fewer="--stream, --at-least")
    parser.add_argument("--stream", dest="streams", metavar="ID", type=stream_id, action="append", help="only this stream id; repeatable")
    parser.add_argument("--at-least", metavar="BYTES", type=count_or_none, default=0, help="only backlogs of so many bytes (default: 0)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show backlogs; returns 0."""
    from aerowire.tools.driver.watching import show
    from aerowire.tools.streams.stream_look import StreamsLook

    look = StreamsLook()

    def report(files: DriverFiles) -> BacklogReport:
        seen = look(files)
        wanted = [end for end in seen.streams.ends if not arguments.streams or end.stream_id in arguments.streams]
        backlogs = [backlog for end in wanted for backlog in backlogs_of(end) if backlog.length >= arguments.at_least]
        return BacklogReport(seen, sorted(backlogs, key=lambda backlog: -backlog.length))

    return show(arguments, report)


@dataclass(frozen=True, slots=True)
class Backlog:
    """What one end of a stream has before it. `left` is how much more fits; None where nothing limits it."""

    end: End
    role: str
    registration_id: int
    client_id: int | None
    position: int
    length: int
    left: int | None


def backlogs_of(end: End) -> list[Backlog]:
    """Return the backlogs of a stream."""
    from aerowire.tools.streams.stream_model import Publication

    found = []
    if isinstance(end, Publication):
        unread = max(end.position - position for position in (end.position, *_readers(end)))
        found.append(Backlog(end, PUBLISHER, end.registration_id, end.client_id, end.position, unread, end.window_left))
        if end.sender_position is not None:
            sender = Backlog(
                end, SENDER, end.registration_id, None, end.sender_position, max(end.send_backlog or 0, 0), end.sender_window_left
            )
            found.append(sender)
    else:
        found.append(Backlog(end, RECEIVER, end.registration_id, None, end.position, end.missing, None))
    found += [
        Backlog(end, SUBSCRIBER, item.registration_id, item.client_id, item.position, max(end.front - item.position, 0), None)
        for item in end.subscribers
    ]
    return found


def _readers(end: End) -> list[int]:
    from aerowire.tools.streams.stream_model import Publication

    positions = [subscriber.position for subscriber in end.subscribers]
    if isinstance(end, Publication) and end.sender_position is not None:
        positions.append(end.sender_position)
    return positions


_TASKS = {PUBLISHER: "not taken yet", SENDER: "to send", RECEIVER: "waits behind a gap", SUBSCRIBER: "to read"}


@dataclass(frozen=True, slots=True)
class BacklogReport:
    """The backlogs of one moment, the largest first."""

    seen: StreamsSeen
    backlogs: list[Backlog]

    def to_dict(self) -> dict[str, Any]:
        """Return them for programs."""
        return {**self.seen.head(), "backlogs": [self._backlog(backlog) for backlog in self.backlogs]}

    def render(self) -> RenderableType:
        """Return them for people."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from aerowire.base.text import printable
        from aerowire.tools.terminal.figures import grouped, size_text
        from aerowire.tools.terminal.live_view import head_style

        driver = self.seen.driver
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=head_style("dim"))
        for name in ("backlog", "", "who", "client", "pid", "stream", "session", "position", "left", "channel"):
            is_number = name in {"backlog", "stream", "session", "position", "left"}
            table.add_column(name, justify="right" if is_number else "left", no_wrap=name != "channel", overflow="ellipsis")
        for backlog in self.backlogs:
            client = None if backlog.client_id is None else self.seen.client(backlog.client_id)
            cells = (
                grouped(backlog.length),
                _TASKS[backlog.role],
                f"{backlog.role} {backlog.registration_id}",
                "" if client is None else printable(client.title),
                "" if client is None else client.pid_text,
                str(backlog.end.stream_id),
                str(backlog.end.session_id),
                grouped(backlog.position),
                "" if backlog.left is None else size_text(max(backlog.left, 0)),
                printable(backlog.end.channel),
            )
            is_out_of_room = backlog.left is not None and backlog.left <= 0 < backlog.position
            table.add_row(*map(Text, cells), style="bold red" if is_out_of_room else "" if backlog.length else "dim")
        title = f"{printable(driver.aeron_dir)} - pid {driver.pid}, {driver.heartbeat_text} - backlogs in bytes"
        head = Text(title, style=head_style("bold"))
        return Group(head, table) if self.backlogs else Group(head, Text("none", style="dim"))

    def _backlog(self, backlog: Backlog) -> dict[str, Any]:
        return {
            "role": backlog.role,
            "registration_id": backlog.registration_id,
            "client": None if backlog.client_id is None else self.seen.client(backlog.client_id).to_dict(),
            "stream_id": backlog.end.stream_id,
            "session_id": backlog.end.session_id,
            "channel": backlog.end.channel,
            "position": backlog.position,
            "bytes": backlog.length,
            "left": backlog.left,
        }
