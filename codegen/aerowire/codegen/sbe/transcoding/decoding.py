"""Messages of a stream as JSON objects, one after the other; a damaged one is an object that says what is wrong with it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

from aerowire.codegen.sbe.interpreter.errors import MessageError, shown_bytes
from aerowire.codegen.sbe.interpreter.json_codec import JsonCodec
from aerowire.codegen.sbe.transcoding.framing import HEADER, check_encoding, frame_length
from aerowire.codegen.sbe.transcoding.window import HELD_MAX, LINE_MAX, Window

UNKNOWN_MAX = 65_536  # unknown messages in a row that are looked behind


@dataclass(frozen=True, slots=True)
class Result:
    """A message's object, or what is wrong with it."""

    json: dict[str, object]
    is_damaged: bool


def error_object(error: MessageError, **where: object) -> dict[str, object]:
    """What stands in the line of a damaged message."""
    told = {"message": error.what, "path": error.path or None, **where, "expected": error.expected, "actual": error.actual}
    return {"error": {key: value for key, value in told.items() if value is not None}}


def decode_stream(codec: JsonCodec, window: Window) -> Iterator[Result]:
    """Messages without anything between them.

    Where one is damaged, nobody knows where the next one starts.  If a message of the schema, or the end, follows the block of one that
    is unknown, or too short, it goes on there; else what is damaged is the last one told.
    """
    confirmed = 0  # a message, or the end, is known to be here, with nothing but unknown messages in front
    while window.start < len(window.data) or window.fill(1):
        start, offset, began_s = window.start, window.offset, time.monotonic()
        try:
            values, length = codec.decode(window.data, start)
        except MessageError as error:
            wanted = 0 if error.needed is None else error.needed - start
            # As long as this try took may be waited for more, so that trying never takes more than half of the time.
            if 0 < wanted <= HELD_MAX and window.fill(wanted, time.monotonic() - began_s):
                continue
            told = error_object(error, offset=offset + (start if error.offset is None else error.offset))
            yield Result(told, is_damaged=True)
            length = 0 if error.block_end is None else error.block_end - start
            if length and window.position + length > confirmed:
                confirmed = _next_message(codec, window, length)
            if not length or not confirmed:
                yield _given_up(window)
                return
            window.start += length
            continue
        if not length:  # every message of the schema is like that: its header has nothing but constants
            yield _given_up(window, "the schema's messages take no bytes")
            return
        window.start += length
        yield Result(values, is_damaged=False)


def _next_message(codec: JsonCodec, window: Window, length: int) -> int:
    """Where in the stream a message of the schema starts, so many bytes from here and behind others of its id, or where the stream ends
    there; 0 if neither."""
    for _ in range(UNKNOWN_MAX):
        wanted = length + codec.header_size
        if wanted > HELD_MAX:
            return 0
        if not window.hold(wanted):
            return window.position + length if window.held == length else 0
        unknown = codec.unknown_length(window.data, window.start + length)
        if not unknown:
            return 0 if unknown is None else window.position + length
        length += unknown
    return 0


def _given_up(window: Window, reason: str = "where the next message starts is not known") -> Result:
    told = MessageError(f"{reason}: nothing from here on was decoded")
    start = window.position
    return Result(error_object(told, offset=start, remaining=window.drop()), is_damaged=True)


def decode_frames(codec: JsonCodec, window: Window) -> Iterator[Result]:
    """Messages in frames (SOFH).  A damaged message ends with its frame; a frame whose length cannot be is the last one told."""
    order = codec.schema.byte_order
    while window.start < len(window.data) or window.fill(1):
        try:
            _hold(window, HEADER.size, "a frame's header")
            length = frame_length(window.data, window.start)
            _hold(window, length, "the frame")
        except MessageError as error:
            yield Result(error_object(error, offset=window.position), is_damaged=True)
            yield _given_up(window)
            return
        start = window.start + HEADER.size
        window.start += length
        try:
            check_encoding(window.data, start - HEADER.size, order)
            yield Result(codec.decode_whole(memoryview(window.data)[start : window.start]), is_damaged=False)
        except MessageError as error:
            yield Result(error_object(error, offset=window.offset + start + (error.offset or 0)), is_damaged=True)


def _hold(window: Window, length: int, what: str) -> None:
    if not window.hold(length):
        raise MessageError(f"{what} goes beyond the end", expected=f"{length} bytes", actual=f"{window.held} bytes")


def decode_lines(codec: JsonCodec, window: Window) -> Iterator[Result]:
    """One message a line, in hex; empty lines are left out.  A damaged one ends with its line."""
    for number, line in numbered(window):
        try:
            check_line(line, window)
            yield Result(codec.decode_whole(parse_hex(line)), is_damaged=False)
        except MessageError as error:
            yield Result(error_object(error, line=number, offset=error.offset), is_damaged=True)


def parse_hex(line: bytes) -> bytes:
    """The bytes of a line."""
    try:
        return bytes.fromhex(line.decode("ascii"))
    except ValueError:
        raise MessageError("the line is no hex", expected="two hex digits for each byte", actual=shown_bytes(line)) from None


def numbered(window: Window) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something; they count from 1."""
    for number in itertools.count(1):
        line = window.line()
        if line is None:
            return
        if line.strip():
            yield number, line


def check_line(line: bytes, window: Window) -> None:
    """Raise MessageError for a line that is too long to hold; the rest of it is left out."""
    if len(line) >= LINE_MAX:
        window.skip_line()
        raise MessageError("the line is too long", expected=f"fewer than {LINE_MAX} bytes")
