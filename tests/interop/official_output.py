"""What the official tools print, as numbers: one function for each tool. Knows nothing of ours."""

from __future__ import annotations

import re
from typing import NamedTuple

_TERM = re.compile(r"^Index (\d) Term Meta Data termOffset=(\d+) termId=(-?\d+) rawTail=-?\d+ position=(\d+)", re.MULTILINE)
_FRAME = re.compile(
    r"^(\d+): DATA Header\{frame-length=(-?\d+) version=\d+ flags=([01]+) type=(\d+) term-offset=(-?\d+) session-id=(-?\d+)"
    r" stream-id=(-?\d+) term-id=(-?\d+) reserved-value=(-?\d+)\}",
    re.MULTILINE,
)
_STREAM = re.compile(r"^sessionId=(-?\d+) streamId=(-?\d+) channel=(.*?) :((?: \S+(?: \(\w+\))?:-?\d+:-?\d+)+)$", re.MULTILINE)
_POSITION = re.compile(r"(\S+)(?: \(\w+\))?:(-?\d+):(-?\d+)")


class Position(NamedTuple):
    """A counter of a stream as StreamStat prints it."""

    session_id: int
    stream_id: int
    name: str
    registration_id: int
    value: int


def stream_stat(text: str) -> set[Position]:
    """Return all positions of all streams."""
    return {
        Position(int(session_id), int(stream_id), name, int(registration_id), int(value))
        for session_id, stream_id, _, positions in _STREAM.findall(text)
        for name, registration_id, value in _POSITION.findall(positions)
    }


def backlog_stat(text: str) -> dict[tuple[str, int], tuple[int, int | None]]:
    """Return (bytes, bytes left) by role and registration id; for a publisher and a receiver the first one is the position."""
    found: dict[tuple[str, int], tuple[int, int | None]] = {}
    for identity, position, left in re.findall(r"publisher (\d+) the last sampled position is (\d+) \(~(-?\d+) bytes", text):
        found["publisher", int(identity)] = int(position), int(left)
    for identity, length, left in re.findall(r"sender (\d+) has to send (\d+) bytes \((-?\d+) bytes remaining", text):
        found["sender", int(identity)] = int(length), int(left)
    for identity, position in re.findall(r"receiver (\d+) is at position (\d+)", text):
        found["receiver", int(identity)] = int(position), None
    for identity, length in re.findall(r"subscriber (\d+) has (-?\d+) backlog bytes", text):
        found["subscriber", int(identity)] = int(length), None
    return found


def log_terms(text: str) -> dict[int, tuple[int, int, int]]:
    """Return (tail offset, term id, position) of each term by its index, as LogInspector prints them."""
    return {int(index): (int(offset), int(term_id), int(position)) for index, offset, term_id, position in _TERM.findall(text)}


def log_frames(text: str, index: int) -> list[tuple[int, int, int, int, int, int]]:
    """Return offset, length, flags, type, term id and reserved value of the frames of a term, as LogInspector prints them.

    It takes the rest of a frame that was cleaned in part for a header; what does not say its own place is left out.
    """
    section = text.split(f"Index {index} Term Data")[1].split("=====", maxsplit=1)[0]
    return [
        (int(offset), int(length), int(flags, 2), int(kind), int(term_id), int(reserved))
        for offset, length, flags, kind, term_offset, _, _, term_id, reserved in _FRAME.findall(section)
        if int(length) > 0 and offset == term_offset
    ]


def loss_stat(text: str) -> list[tuple[int, int, int, int]]:
    """Return observations, bytes, session and stream of each entry."""
    rows = [line.split(",") for line in text.splitlines() if re.match(r"\d+,", line)]
    return sorted((int(row[0]), int(row[1]), int(row[4]), int(row[5])) for row in rows)
