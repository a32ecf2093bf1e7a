"""The rows and the title of one stream in the table of `aerowire streams`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.table import Table
from rich.text import Text

from aerowire.base.text import printable
from aerowire.tools.streams.stream_model import LATE_SHARE, End, Publication, Recording, Subscriber
from aerowire.tools.streams.stream_verdicts import share_behind, slowest_of
from aerowire.tools.terminal.figures import grouped, rate_text, size_text

if TYPE_CHECKING:
    from aerowire.tools.streams.stream_look import StreamsSeen

COLUMNS = ("", "client", "pid", "position", "behind", "window", "bytes/s", "")
_BAR_LENGTH = 10
_FULL, _EMPTY = "#", "."
# Names of clients take so much of a row at most.
_NAME_LENGTH_MAX = 24


class Row(NamedTuple):
    """One line: a publisher, a sender, a receiver, a subscriber or a recording; a cell for each of COLUMNS."""

    cells: tuple[str, ...]
    style: str = ""


def title_of(end: End) -> Text:
    """Return the line above a stream's rows."""
    kind = "publication" if isinstance(end, Publication) else "image"
    return Text(f"stream {end.stream_id}  session {end.session_id}  {kind} of {printable(end.channel)}", style="bold cyan")


def table_of(rows: Sequence[Row], widths: Sequence[int]) -> Table:
    """Return the rows as a table whose columns stand below those of the other streams, which have the same `widths`."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=bool(rows), header_style="dim")
    for name, width in zip(COLUMNS, widths, strict=True):
        is_number = name in {"position", "behind", "bytes/s"}
        table.add_column(name, justify="right" if is_number else "left", min_width=max(width, len(name)), no_wrap=True, overflow="ellipsis")
    for row in rows:
        table.add_row(*map(Text, row.cells), style=row.style)
    return table


def rows_of(seen: StreamsSeen, end: End) -> list[Row]:
    """Return a stream's rows: its source first, then its subscribers, the slowest one last, and its recordings."""
    rows = _of_publication(seen, end) if isinstance(end, Publication) else [_of_receiver(seen, end)]
    slowest = slowest_of(end)
    for subscriber in sorted(end.subscribers, key=lambda subscriber: -subscriber.position):
        rows.append(_of_subscriber(seen, end, subscriber, is_slowest=subscriber in slowest))
    rows += [_of_recording(seen, end, recording) for recording in end.recordings]
    return rows


def _of_publication(seen: StreamsSeen, end: Publication) -> list[Row]:
    left = f"{size_text(end.window_left)} left" if end.window_left > 0 else "back-pressured"
    if end.end_position is not None:
        left = "closed"
    window = end.window_length if end.end_position is None else None
    bar = _bar(1 - end.window_left / window) if window else ""
    notes = f"{left}, {end.mode}" if end.mode else left
    rows = [
        _row(seen, f"publisher {end.registration_id}", end.client_id, end.position, None, bar, ("publisher", end.registration_id), notes)
    ]
    if end.sender_position is not None:
        notes = _joined(
            f"{size_text(end.sender_window_left)} left" if end.sender_window_left else "",
            f"{end.receivers} receivers" if end.receivers is not None else "",
            f"{end.back_pressure_events} times held back" if end.back_pressure_events else "",
            f"{end.naks_received} NAKs" if end.naks_received else "",
        )
        rows.append(_row(seen, "sender", None, end.sender_position, end.send_backlog, "", ("sender", end.registration_id), notes))
    return rows


def _of_receiver(seen: StreamsSeen, end: End) -> Row:
    assert not isinstance(end, Publication)
    notes = _joined(
        f"{end.losses} losses, {size_text(end.lost_bytes or 0)}" if end.losses else "", f"{end.naks_sent} NAKs" if end.naks_sent else ""
    )
    identity = end.registration_id
    return _row(seen, f"receiver {identity}", None, end.position, end.missing, "", ("receiver", identity), notes)


def _of_subscriber(seen: StreamsSeen, end: End, subscriber: Subscriber, *, is_slowest: bool) -> Row:
    share = share_behind(end, subscriber)
    who, rate = f"subscriber {subscriber.registration_id}", ("subscriber", subscriber.counter_id)
    bar = "" if share is None else _bar(share)
    row = _row(
        seen, who, subscriber.client_id, subscriber.position, max(end.front - subscriber.position, 0), bar, rate, "SLOWEST" * is_slowest
    )
    is_full = share is not None and round(share * _BAR_LENGTH) >= _BAR_LENGTH
    return row._replace(style="bold red" if is_full else "yellow" if share is not None and share >= LATE_SHARE else "")


def _of_recording(seen: StreamsSeen, end: End, recording: Recording) -> Row:
    behind, rate = max(end.front - recording.position, 0), ("recording", recording.counter_id)
    return _row(seen, f"recording {recording.recording_id}", recording.client_id, recording.position, behind, "", rate, "")


def _row(
    seen: StreamsSeen, who: str, client_id: int | None, position: int, behind: int | None, bar: str, rate: tuple[str, int], notes: str
) -> Row:
    client = None if client_id is None else seen.client(client_id)
    name = "" if client is None else printable(client.title)
    if len(name) > _NAME_LENGTH_MAX:
        name = f"{name[: _NAME_LENGTH_MAX - 1]}…"
    pid = "" if client is None else client.pid_text
    behind_text = "" if behind is None else grouped(behind)
    return Row((who, name, pid, grouped(position), behind_text, bar, rate_text(seen.rate(*rate)), notes))


def _bar(share: float) -> str:
    filled = min(max(round(share * _BAR_LENGTH), 0), _BAR_LENGTH)
    return f"{_FULL * filled}{_EMPTY * (_BAR_LENGTH - filled)} {max(share, 0.0):4.0%}"


def _joined(*notes: str) -> str:
    return ", ".join(note for note in notes if note)
