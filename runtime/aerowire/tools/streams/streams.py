"""`aerowire streams`: who sends, who receives, and who is slowest. Aeron: StreamStat."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerowire.tools.arguments import stream_id
from aerowire.tools.driver.watching import add_watch_arguments

if TYPE_CHECKING:
    from rich.console import RenderableType

    from aerowire.tools.driver.driver_files import DriverFiles
    from aerowire.tools.streams.stream_look import StreamsSeen
    from aerowire.tools.streams.stream_model import End, Image, Publication, Recording, Subscriber

EXAMPLES = """\
Examples:
  aerowire streams
  aerowire streams --dir /dev/shm/aeron-me --watch 1
  aerowire streams --stream 1001 --stalled
  aerowire streams --json | jq '.publications[] | select(.verdict.severity == "stalled")'

Positions are bytes since the stream's start. "behind" is what a subscriber has not read, a sender not sent, a receiver not been able to
rebuild; the bar is the part of the window that this takes up. When it is full, whoever is slowest stalls every other subscriber of the
stream and its publisher, which is said in red. Processes are found through what they map; where that leaves several, all are named.

Exit codes: 0 shown, or ended by a signal with --watch; 1 interrupted before it had shown; 2 usage, or no driver's files there.
"""
_STYLES = {"good": "green", "late": "yellow", "stalled": "bold red"}


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "streams",
        help="show streams: who sends, who receives, who is slowest",
        description="Show each stream of a driver with its publisher, sender, receiver and subscribers.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_watch_arguments(parser, fewer="--stream, --stalled")
    parser.add_argument("--stream", dest="streams", metavar="ID", type=stream_id, action="append", help="only this stream id; repeatable")
    parser.add_argument(
        "--session", dest="sessions", metavar="ID", type=stream_id, action="append", help="only this session id; repeatable"
    )
    parser.add_argument("--stalled", action="store_true", help="only streams that are stalled or late")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show streams; returns 0."""
    from aerowire.tools.driver.watching import show
    from aerowire.tools.streams.stream_look import StreamsLook

    look = StreamsLook()

    def report(files: DriverFiles) -> StreamsReport:
        return StreamsReport(look(files), arguments.streams, arguments.sessions, arguments.stalled)

    return show(arguments, report)


@dataclass(frozen=True, slots=True)
class StreamsReport:
    """The streams that were asked for."""

    seen: StreamsSeen
    stream_ids: list[int] | None = None
    session_ids: list[int] | None = None
    is_stalled_only: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return them for programs."""
        from aerowire.tools.streams.stream_model import Image, Publication

        ends = self._ends()
        return {
            **self.seen.head(),
            "publications": [self._publication(end) for end in ends if isinstance(end, Publication)],
            "images": [self._image(end) for end in ends if isinstance(end, Image)],
        }

    def render(self) -> RenderableType:
        """Return them for people."""
        from rich.console import Group
        from rich.text import Text

        from aerowire.base.text import printable
        from aerowire.tools.streams.stream_model import Publication
        from aerowire.tools.streams.stream_rows import COLUMNS, Row, rows_of, table_of, title_of
        from aerowire.tools.streams.stream_verdicts import verdict_of
        from aerowire.tools.terminal.live_view import head_style

        driver, ends = self.seen.driver, self._ends()
        subscribers = sum(len(end.subscribers) for end in ends)
        publications = sum(isinstance(end, Publication) for end in ends)
        counts = f"publications {publications}, images {len(ends) - publications}, subscribers {subscribers}"
        head = f"{printable(driver.aeron_dir)} - pid {driver.pid}, {driver.heartbeat_text} - {counts}"
        parts: list[RenderableType] = [Text(head, style=head_style("bold"))]
        rows: list[list[Row]] = [rows_of(self.seen, end) for end in ends]
        widths = [max((len(row.cells[column]) for section in rows for row in section), default=0) for column in range(len(COLUMNS))]
        for end, section in zip(ends, rows, strict=True):
            verdict = verdict_of(end, self.seen.name_of, self.seen.streams.images)
            parts += [Text(""), title_of(end), table_of(section, widths)]
            if verdict.text:
                parts.append(Text(f"  {verdict.text}", style=_STYLES[verdict.severity]))
        return Group(*parts)

    def _ends(self) -> list[End]:
        from aerowire.tools.streams.stream_verdicts import GOOD, verdict_of

        return [
            end
            for end in self.seen.streams.ends
            if (not self.stream_ids or end.stream_id in self.stream_ids)
            and (not self.session_ids or end.session_id in self.session_ids)
            and not (self.is_stalled_only and verdict_of(end).severity == GOOD)
        ]

    def _publication(self, end: Publication) -> dict[str, Any]:
        return {
            **self._end(end),
            "mode": end.mode,
            "client": self.seen.client(end.client_id).to_dict(),
            "position": end.position,
            "limit": end.limit,
            "window_left": end.window_left,
            "sender_position": end.sender_position,
            "sender_limit": end.sender_limit,
            "back_pressure_events": end.back_pressure_events,
            "naks_received": end.naks_received,
            "receivers": end.receivers,
            "rate": self.seen.rate("publisher", end.registration_id),
        }

    def _image(self, end: Image) -> dict[str, Any]:
        return {
            **self._end(end),
            "position": end.position,
            "high_water": end.high_water,
            "missing": end.missing,
            "naks_sent": end.naks_sent,
            "losses": end.losses,
            "lost_bytes": end.lost_bytes,
            "rate": self.seen.rate("receiver", end.registration_id),
        }

    def _end(self, end: End) -> dict[str, Any]:
        from aerowire.tools.streams.stream_verdicts import verdict_of

        verdict = verdict_of(end, self.seen.name_of, self.seen.streams.images)
        return {
            "stream_id": end.stream_id,
            "session_id": end.session_id,
            "channel": end.channel,
            "registration_id": end.registration_id,
            "window_length": end.window_length,
            "verdict": {"severity": verdict.severity, "text": verdict.text},
            "subscribers": [self._subscriber(end, subscriber, subscriber.counter_id in verdict.culprits) for subscriber in end.subscribers],
            "recordings": [self._recording(end, recording) for recording in end.recordings],
        }

    def _recording(self, end: End, recording: Recording) -> dict[str, Any]:
        return {
            "recording_id": recording.recording_id,
            "client": self.seen.client(recording.client_id).to_dict(),
            "position": recording.position,
            "behind": end.front - recording.position,
            "rate": self.seen.rate("recording", recording.counter_id),
        }

    def _subscriber(self, end: End, subscriber: Subscriber, is_culprit: bool) -> dict[str, Any]:
        from aerowire.tools.streams.stream_verdicts import slowest_of

        return {
            "registration_id": subscriber.registration_id,
            "channel": subscriber.channel,
            "client": self.seen.client(subscriber.client_id).to_dict(),
            "position": subscriber.position,
            "join_position": subscriber.join_position,
            "behind": end.front - subscriber.position,
            "is_slowest": subscriber in slowest_of(end),
            "is_culprit": is_culprit,
            "rate": self.seen.rate("subscriber", subscriber.counter_id),
        }
