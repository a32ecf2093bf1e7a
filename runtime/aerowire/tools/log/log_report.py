"""What `aerowire log` shows of a log, or of all logs of a directory."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from aerowire.base.text import printable
from aerowire.codecs.flyweights.logbuffer import END_OF_STREAM_POSITION_UNSET
from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameType
from aerowire.system.files import allocated_length
from aerowire.tools.driver.log_files import log_paths
from aerowire.tools.log.log_frames import HEADER_LENGTH, Claim, Damage, Entry, Frame, Remnant, Term, Zeros, entries_of
from aerowire.tools.log.log_reader import ACTIVE, LogReader, TermState
from aerowire.tools.terminal.figures import grouped, printable_lines, size_text

_DUMP_WIDTH = 16
# Metadata that people look at, with what it is called there.
_SHOWN = (
    ("correlation_id", "registration id"),
    ("is_connected", "is connected"),
    ("initial_term_id", "initial term id"),
    ("active_term_count", "term count"),
    ("term_length", "term length"),
    ("mtu", "MTU"),
    ("page_size", "page size"),
    ("publication_window_length", "publication window"),
    ("receiver_window_length", "receiver window"),
    ("active_transport_count", "transports"),
    ("reliable", "reliable"),
    ("sparse", "sparse"),
    ("tether", "tether"),
    ("is_publication_revoked", "revoked"),
)


@dataclass(frozen=True, slots=True)
class TermShown:
    """A term and what of it is shown. `rest` says that there is more."""

    state: TermState
    entries: list[Entry]
    dumps: list[bytes]
    has_more: bool


@dataclass(frozen=True, slots=True)
class LogReport:
    """A log."""

    path: Path
    type_text: str
    session_id: int
    stream_id: int
    metadata: dict[str, Any]
    tail_position: int | None
    active_index: int
    states: list[TermState]
    terms: list[TermShown]
    is_text: bool
    is_check: bool

    @classmethod
    def of(cls, reader: LogReader, arguments: argparse.Namespace) -> Self:
        """Return what the arguments ask for of a log."""
        states = reader.terms()
        wanted = {"active": [reader.active_index], "all": range(len(states))}.get(arguments.term) or [int(arguments.term)]
        return cls(
            reader.path,
            reader.type_text,
            reader.stream.session_id,
            reader.stream.stream_id,
            reader.metadata,
            None if reader.is_image else reader.tail_position,
            reader.active_index,
            states,
            [_shown(reader, states[index], arguments) for index in wanted],
            arguments.text is not None,
            arguments.check,
        )

    @property
    def is_damaged(self) -> bool:
        """Whether something that is shown is wrong."""
        return any(_is_wrong(entry) for term in self.terms for entry in term.entries)

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        metadata = {name: value.hex() if isinstance(value, bytes) else value for name, value in self.metadata.items()}
        return {
            "file": str(self.path),
            "type": self.type_text,
            "session_id": self.session_id,
            "stream_id": self.stream_id,
            "tail_position": self.tail_position,
            "active_index": self.active_index,
            "metadata": metadata,
            "terms": [_term_as_dict(term) for term in self.terms],
        }

    def render(self) -> RenderableType:
        """Return it for people."""
        parts: list[RenderableType] = [
            Text(f"{self.path} - {self.type_text}, stream {self.stream_id}, session {self.session_id}", style="bold"),
            self._render_metadata(),
            self._render_states(),
        ]
        for term in self.terms:
            parts += [Text(""), *self._render_term(term)]
        return Group(*parts)

    def _render_metadata(self) -> RenderableType:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
        for _ in range(2):
            table.add_column(style="dim", no_wrap=True)
            table.add_column(no_wrap=True)
        end = self.metadata["end_of_stream_position"]
        header = DataHeaderDecoder(bytes(self.metadata["default_header"]))
        template = f"type {header.type}, flags {header.flags:#04x}, version {header.version}, term {header.term_id}"
        pairs = [(name, grouped(int(self.metadata[field]))) for field, name in _SHOWN]
        pairs = [(name, value.replace(",", "") if name.endswith("id") else value) for name, value in pairs]
        pairs += [("end of stream", "none" if end == END_OF_STREAM_POSITION_UNSET else grouped(end)), ("default header", template)]
        half = -(-len(pairs) // 2)
        for index in range(half):
            right = pairs[index + half] if index + half < len(pairs) else ("", "")
            table.add_row(*map(Text, (*pairs[index], *right)))
        return table

    def _render_states(self) -> RenderableType:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        for name in ("term", "state", "term id", "tail", "position"):
            table.add_column(name, justify="left" if name == "state" else "right", no_wrap=True)
        for state in self.states:
            tail = "" if state.tail_offset is None else grouped(state.tail_offset)
            position = "" if state.position is None else grouped(state.position)
            style = "bold green" if state.state == ACTIVE else ""
            table.add_row(str(state.index), state.state, str(state.term_id), tail, position, style=style)
        return table

    def _render_term(self, term: TermShown) -> Iterator[RenderableType]:
        title = f"term {term.state.index} - {term.state.state}, term id {term.state.term_id}"
        if not term.entries:
            what = "nothing is wrong" if self.is_check else "nothing to show"
            yield Text(f"{title} - {what}", style="cyan")
            return
        yield Text(title, style="cyan")
        yield Text(f"{'offset':>12} {'length':>10}  type  flags {'reserved value':>20}", style="dim")
        for entry, dump in zip(term.entries, term.dumps, strict=True):
            yield _render_entry(entry)
            if dump:
                yield Text("\n".join(_dump_lines(dump, is_text=self.is_text)), style="dim")
        if term.has_more:
            last = term.entries[-1]
            yield Text(f"... more from {last.offset + _extent(last)}; --from and --limit show it", style="dim")


@dataclass(frozen=True, slots=True)
class LogList:
    """The logs of a directory."""

    directory: Path
    logs: list[dict[str, Any]]

    @classmethod
    def of(cls, directory: Path) -> Self:
        """Return the logs; DriverDirectoryMissingError where there is no driver."""
        from aerowire.base.directory import CNC_FILE_NAME
        from aerowire.base.errors import AerowireError, DriverDirectoryMissingError

        if not (directory / CNC_FILE_NAME).exists():
            raise DriverDirectoryMissingError(
                "no driver directory",
                where=directory,
                expected=CNC_FILE_NAME,
                hint="give a driver's directory (aeron.dir), or a log's file",
            )
        found = []
        for path in log_paths(directory):
            try:
                with LogReader(path) as reader:
                    found.append(_summary(reader))
            except (AerowireError, OSError) as error:
                found.append({"file": str(path), "error": str(error)})  # one that is being made, or has just gone
        return cls(directory, found)

    def to_dict(self) -> dict[str, Any]:
        """Return them for programs."""
        return {"aeron_dir": str(self.directory), "logs": self.logs}

    def render(self) -> RenderableType:
        """Return them for people."""
        head = Text(f"{printable(str(self.directory))} - {len(self.logs)} logs", style="bold")
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        for name in ("log", "type", "stream", "session", "term length", "tail position", "on disk", "file"):
            table.add_column(name, justify="left" if name in {"type", "file"} else "right", no_wrap=name != "file")
        for log in self.logs:
            path = Path(log["file"])
            if "error" in log:
                table.add_row(Text(printable(path.stem)), Text(printable(log["error"]), style="red"))
                continue
            cells = (
                printable(path.stem),
                log["type"],
                str(log["stream_id"]),
                str(log["session_id"]),
                size_text(log["term_length"]),
                "" if log["tail_position"] is None else grouped(log["tail_position"]),
                size_text(log["allocated"]),
                printable(str(path.relative_to(self.directory))),
            )
            table.add_row(*map(Text, cells))
        return Group(head, table) if self.logs else head


def _summary(reader: LogReader) -> dict[str, Any]:
    return {
        "file": str(reader.path),
        "type": reader.type_text,
        "session_id": reader.stream.session_id,
        "stream_id": reader.stream.stream_id,
        "term_length": reader.term_length,
        "tail_position": None if reader.is_image else reader.tail_position,
        "is_connected": bool(reader.metadata["is_connected"]),
        "allocated": allocated_length(reader.path.stat()),
    }


def _shown(reader: LogReader, state: TermState, arguments: argparse.Namespace) -> TermShown:
    term = reader.term(state.index)
    entries = entries_of(term, reader.expected(state.index), min(arguments.begin, term.length))
    if arguments.check:
        return TermShown(state, wrong := [entry for entry in entries if _is_wrong(entry)], [b""] * len(wrong), has_more=False)
    wanted = (entry for entry in entries if not (arguments.hide_empty and _is_empty(entry)))
    shown = list(islice(wanted, arguments.limit + 1))
    has_more, shown = len(shown) > arguments.limit > 0, shown[: arguments.limit]
    length_max = arguments.hex if arguments.hex is not None else arguments.text
    return TermShown(state, shown, [_payload(term, entry, length_max) for entry in shown], has_more)


def _payload(term: Term, entry: Entry, length_max: int | None) -> bytes:
    """Return what of an entry is dumped; -1 is all of it."""
    if length_max is None or isinstance(entry, (Zeros, Remnant)):
        return b""
    if isinstance(entry, Frame) and entry.type == FrameType.PAD:
        return b""
    begin = entry.offset if isinstance(entry, Damage) else entry.offset + HEADER_LENGTH
    length = entry.offset + _extent(entry) - begin if isinstance(entry, Damage) else _length(entry) - HEADER_LENGTH
    return term.read(begin, length if length_max < 0 else min(length, length_max))


def _is_wrong(entry: Entry) -> bool:
    return isinstance(entry, Damage) or (isinstance(entry, Frame) and bool(entry.problems))


def _is_empty(entry: Entry) -> bool:
    return isinstance(entry, (Zeros, Remnant)) or (isinstance(entry, Frame) and (entry.type == FrameType.PAD or entry.payload_length == 0))


def _length(entry: Entry) -> int:
    return entry.frame_length if isinstance(entry, Frame) else entry.length


def _extent(entry: Entry) -> int:
    return entry.aligned_length if isinstance(entry, Frame) else entry.length


def _term_as_dict(term: TermShown) -> dict[str, Any]:
    entries = [_entry_as_dict(entry, dump) for entry, dump in zip(term.entries, term.dumps, strict=True)]
    state = {"index": term.state.index, "state": term.state.state, "term_id": term.state.term_id}
    return {**state, "tail_offset": term.state.tail_offset, "position": term.state.position, "entries": entries, "has_more": term.has_more}


def _entry_as_dict(entry: Entry, dump: bytes) -> dict[str, Any]:
    payload = {"payload": dump.hex()} if dump else {}
    fields = {**entry._asdict(), "type": entry.type_text, "problems": list(entry.problems)} if isinstance(entry, Frame) else entry._asdict()
    return {"kind": type(entry).__name__.lower(), **fields, **payload}


def _render_entry(entry: Entry) -> Text:
    begin = f"{entry.offset:>12} {_length(entry):>10}"
    match entry:
        case Frame():
            problems = f"  {', '.join(entry.problems)}" if entry.problems else ""
            line = f"{begin}  {entry.type_text:<4}  {entry.flags_text:<5} {entry.reserved_value:>20}{problems}"
            return Text(line, style="bold red" if problems else "")
        case Zeros():
            return Text(f"{begin}  zeros", style="dim")
        case Remnant():
            return Text(f"{begin}  rest of a frame that begins before", style="dim")
        case Claim():
            return Text(f"{begin}  claimed and not committed", style="yellow")
        case Damage():
            return Text(f"{begin}  DAMAGED: {entry.reason}", style="bold red")


def _dump_lines(data: bytes, *, is_text: bool) -> Iterator[str]:
    if is_text:
        yield from (f"{'':>14}{line}" for line in printable_lines(data.decode("utf-8", "backslashreplace")))
        return
    for offset in range(0, len(data), _DUMP_WIDTH):
        row = data[offset : offset + _DUMP_WIDTH]
        octets = f"{row[:8].hex(' '):<24} {row[8:].hex(' ')}"
        letters = "".join(chr(octet) if 32 <= octet < 127 else "." for octet in row)
        yield f"{offset:>14x}  {octets:<49} {letters}"
