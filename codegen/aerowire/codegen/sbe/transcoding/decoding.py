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
    """Messages without anything between them.  Where one is damaged, nobody knows where the next one starts: it is the last one told."""
    while window.start < len(window.data) or window.fill(1):
        start, offset, began_s = window.start, window.offset, time.monotonic()
        try:
            values, length = codec.decode(window.data, start)
        except MessageError as error:
            wanted = 0 if error.needed is None else error.needed - start
            # As long as this try took may be waited for more, so that trying never takes more than half of the time.
            if 0 < wanted <= HELD_MAX and window.fill(wanted, time.monotonic() - began_s):
                continue
            yield from _given_up(window, error, offset + (start if error.offset is None else error.offset))
            return
        window.start += length
        yield Result(values, is_damaged=False)


def _given_up(window: Window, error: MessageError, at: int) -> Iterator[Result]:
    start = window.position
    yield Result(error_object(error, offset=at), is_damaged=True)
    told = MessageError("where the next message starts is not known: nothing from here on was decoded")
    yield Result(error_object(told, offset=start, remaining=window.drop()), is_damaged=True)


def decode_frames(codec: JsonCodec, window: Window) -> Iterator[Result]:
    """Messages in frames (SOFH).  A damaged message ends with its frame; a frame whose length cannot be is the last one told."""
    order = codec.schema.byte_order
    while window.start < len(window.data) or window.fill(1):
        try:
            _hold(window, HEADER.size, "a frame's header")
            length = frame_length(window.data, window.start)
            _hold(window, length, "the frame")
        except MessageError as error:
            yield from _given_up(window, error, window.position)
            return
        start = window.start + HEADER.size
        window.start += length
        try:
            check_encoding(window.data, start - HEADER.size, order)
            yield Result(codec.decode_whole(memoryview(window.data)[start : window.start]), is_damaged=False)
        except MessageError as error:
            yield Result(error_object(error, offset=window.offset + start + (error.offset or 0)), is_damaged=True)


def _hold(window: Window, length: int, what: str) -> None:
    held = len(window.data) - window.start
    while held < length:
        if not window.fill(length):
            raise MessageError(f"{what} goes beyond the end", expected=f"{length} bytes", actual=f"{held} bytes")
        held = len(window.data)


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
