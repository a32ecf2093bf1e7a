"""`aerowire archive dump`: descriptors and recorded frames. Aeron: ArchiveTool."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.tools.archive.archive_command import add_command, recording_id
from aerowire.tools.arguments import count
from aerowire.tools.directory_command import Subparsers, show, show_json, system_files

if TYPE_CHECKING:
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.archive.files.recorded_frames import RecordedFrame
    from aerowire.recordings.catalog_entry import RecordingEntry

_ROW = 16
_RULE = "+--------+-------------------------------------------------+----------------+"
_HEAD = (
    "         +-------------------------------------------------+\n         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n" + _RULE
)


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive dump`."""
    parser = add_command(
        subparsers,
        "dump",
        run,
        purpose="show descriptors and recorded frames",
        description="Show each recording's descriptor and its frames, up to a number of them. Recordings that are deleted are passed over.",
        examples=("aeron-archive 3", "aeron-archive --recording 5 | less", "aeron-archive 100 --json"),
        done="shown",
        finding="a recording cannot be read up to its end, or the catalog is damaged",
    )
    parser.add_argument("limit", metavar="FRAMES", nargs="?", type=count, help="frames shown of each recording (default: all)")
    parser.add_argument("--recording", metavar="ID", type=recording_id, help="this recording only")


def run(arguments: argparse.Namespace) -> int:
    """Show frames; returns 1 where some could not be read."""
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.codecs.flyweights.archive import RecordingState
    from aerowire.tools.archive.inspection import mark_of, show_beginning, tell_problem

    with OfflineCatalog(system_files(), Path(arguments.directory)) as catalog:
        if not arguments.json:
            show_beginning(catalog, mark_of(catalog))
            if arguments.limit is not None:
                show(f"\nDumping up to {arguments.limit} fragments per recording")
        chosen = catalog.entries if arguments.recording is None else [catalog.entry(arguments.recording)]
        code = 0
        for entry in chosen:
            if entry.recording_state is not RecordingState.DELETED:
                shown = _dump_json if arguments.json else _dump_text
                code |= not shown(catalog, entry, arguments.limit)
        return code | tell_problem(catalog)


def _dump_text(catalog: OfflineCatalog, entry: RecordingEntry, limit: int | None) -> bool:
    """Show a recording as the official tool does; return whether all that was asked for could be read."""
    from aerowire.archive.files.recorded_frames import FramesBroken, recorded_frames
    from aerowire.base.text import printable
    from aerowire.tools.archive.message_text import descriptor_header_text, descriptor_text

    length = -1 if entry.is_active else entry.stop_position - entry.start_position
    show(f"\n\nRecording {entry.recording_id}")
    show(f"  channel: {printable(entry.stripped_channel)}\n  streamId: {entry.stream_id}\n  stream length: {length}")
    show(descriptor_header_text(entry))
    show(descriptor_text(entry))
    if entry.damage is not None:
        show(f"\nRecording cannot be read: {printable(entry.damage)}")
        return False
    if length == 0:
        show("Recording is empty")
        return True
    for shown, frame in enumerate(islice(recorded_frames(catalog.files, catalog.directory, entry), limit), 1):
        if isinstance(frame, FramesBroken):
            show(f"\nFrame at position [{frame.position}] cannot be read: {printable(frame.reason)}")
            return False
        show(f"\nFrame at position [{frame.position}] {_frame_text(frame)}")
        if shown == limit and not entry.is_active:
            show(f"{entry.stop_position - frame.next_position} bytes of (from {length}) remaining in recording id {entry.recording_id}")
    return True


def _dump_json(catalog: OfflineCatalog, entry: RecordingEntry, limit: int | None) -> bool:
    """Show a recording's descriptor and frames, an object a line; return whether all that was asked for could be read."""
    from aerowire.archive.files.recorded_frames import FramesBroken, recorded_frames
    from aerowire.tools.archive.message_text import entry_object

    show_json({"recording": entry_object(entry)})
    if entry.damage is not None:
        return False
    for frame in islice(recorded_frames(catalog.files, catalog.directory, entry), limit):
        if isinstance(frame, FramesBroken):
            show_json({"recording_id": entry.recording_id, "position": frame.position, "problem": frame.reason})
            return False
        header = frame.header
        shown = {"recording_id": entry.recording_id, "position": frame.position, "length": header.frame_length, "type": int(header.type)}
        ids = {"flags": int(header.flags), "session_id": header.session_id, "stream_id": header.stream_id, "term_id": header.term_id}
        show_json(shown | ids | {"reserved_value": header.reserved_value, "payload": frame.payload.hex()})
    return True


def _frame_text(frame: RecordedFrame) -> str:
    from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder, FrameType

    header_length, kind, flags = DataHeaderDecoder.ENCODED_LENGTH, frame.header.type, frame.header.flags
    length = frame.header.frame_length - header_length
    lines = [f"data at offset [{frame.term_offset + header_length}] with length = {length}"]
    if kind == FrameType.PAD:
        lines.append("PADDING FRAME")
    elif kind == FrameType.DATA:
        if flags & DataFlags.UNFRAGMENTED != DataFlags.UNFRAGMENTED:
            begins, ends = flags & DataFlags.BEGIN, flags & DataFlags.END
            lines.append(f"Fragmented frame. {'BEGIN_FRAGMENT' if begins else ''}{'END_FRAGMENT' if ends else ''}")
        lines.append("\n".join(_hex_rows(frame.payload)))
    else:
        lines.append(f"Unexpected frame type {int(kind)}")
    return "\n".join(lines)


def _hex_rows(data: bytes) -> Iterator[str]:
    """Yield bytes as a table of sixteen columns, with what of them is ASCII."""
    if not data:
        return
    yield _HEAD
    for offset in range(0, len(data), _ROW):
        row = data[offset : offset + _ROW]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"|{offset:08x}| {row.hex(' '):<{3 * _ROW}}|{text:<{_ROW}}|"
    yield _RULE
