"""The frames of a term, one after the other, and what stands between them: zeros, unfinished claims, damage.

Pure: a term is anything that gives its bytes. Nothing in it is believed before it is checked, so that any bytes can be walked over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy

from aerowire.codecs.dtypes.transport import DATA_HEADER
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, FRAME_VERSION, DataFlags, DataHeaderDecoder, FrameType

HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH
# How much is searched at once for where zeros or damage end.
_STRIDE_LENGTH = 1 << 18
_FRAME_TYPES = (FrameType.DATA, FrameType.PAD)


class Term(Protocol):
    """The bytes of a term."""

    @property
    def length(self) -> int:
        """How many there are."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, which lie within the term; fewer when the file ends before."""
        ...

    def next_data(self, offset: int) -> int:
        """Return the first offset from `offset` on that may hold anything but zeros; `length` when none does."""
        ...


class Stream(NamedTuple):
    """Whose frames are expected in a log; `term_id` is that of the term, None where its frames decide."""

    session_id: int
    stream_id: int
    term_id: int | None = None


class Frame(NamedTuple):
    """A frame. `problems` says what of it is not as expected."""

    offset: int
    frame_length: int
    flags: int
    type: int
    session_id: int
    stream_id: int
    term_id: int
    reserved_value: int
    problems: tuple[str, ...] = ()

    @property
    def payload_length(self) -> int:
        """Bytes behind the header."""
        return self.frame_length - HEADER_LENGTH

    @property
    def aligned_length(self) -> int:
        """Bytes that it takes up."""
        return aligned(self.frame_length)

    @property
    def type_text(self) -> str:
        """DATA or PAD."""
        return FrameType(self.type).name

    @property
    def flags_text(self) -> str:
        """A letter for each flag, in the order of their bits, and dots: `BE..`."""
        return "".join(letter if self.flags & flag else "." for letter, flag in _FLAGS)


class Zeros(NamedTuple):
    """Bytes that nobody has written yet, or that were cleaned, or that are missing from an image."""

    offset: int
    length: int


class Claim(NamedTuple):
    """A place that a writer has claimed and not committed. `length` is that of the frame it announces."""

    offset: int
    length: int


class Damage(NamedTuple):
    """Bytes that are no frame, up to where one begins again."""

    offset: int
    length: int
    reason: str


class Remnant(NamedTuple):
    """The rest of a frame whose beginning is not there: the driver cleans a term from its start on, or one began to look within it."""

    offset: int
    length: int


Entry = Frame | Zeros | Claim | Damage | Remnant
_FLAGS = (("B", DataFlags.BEGIN), ("E", DataFlags.END), ("S", DataFlags.EOS), ("R", DataFlags.REVOKED))


def aligned(length: int) -> int:
    """Return the bytes that a frame of `length` takes up."""
    return -(-length // FRAME_ALIGNMENT) * FRAME_ALIGNMENT


def entries_of(term: Term, stream: Stream, begin: int = 0) -> Iterator[Entry]:
    """Yield what a term holds from `begin`, a multiple of the frames' alignment, to its end; the entries leave nothing out."""
    offset = begin
    # Until something has been read that begins in order, no frame needs to begin here.
    is_within = begin > 0
    while offset < term.length:
        entry = _entry(term, stream, offset)
        is_cleaned = isinstance(entry, Zeros) and offset == begin
        if is_within and isinstance(entry, Damage):
            entry = Remnant(entry.offset, entry.length)
        is_within = is_cleaned
        yield entry
        offset += entry.aligned_length if isinstance(entry, Frame) else aligned(entry.length)


def _entry(term: Term, stream: Stream, offset: int) -> Entry:
    data = term.read(offset, HEADER_LENGTH)
    if len(data) < HEADER_LENGTH:
        return Damage(offset, term.length - offset, "the file ends here")
    header = DataHeaderDecoder(data)
    length, room = header.frame_length, term.length - offset
    if not any(data):
        return Zeros(offset, _first_written(term, offset + HEADER_LENGTH) - offset)
    if HEADER_LENGTH <= -length <= room:
        return Claim(offset, -length)
    reason = _reason(header, offset, room)
    if reason is not None:
        return Damage(offset, _next_frame(term, stream, offset + FRAME_ALIGNMENT) - offset, reason)
    return Frame(
        offset,
        length,
        header.flags,
        header.type,
        header.session_id,
        header.stream_id,
        header.term_id,
        header.reserved_value,
        tuple(_problems(header, stream)),
    )


def _reason(header: DataHeaderDecoder, offset: int, room: int) -> str | None:
    """Return why a header is none; None for one that is."""
    length = header.frame_length
    checks = (
        (length == 0, "no length, but a header: being written, or cleaned in part"),
        (length < 0, f"a claim of {-length} bytes, where {room} are left"),
        (length < HEADER_LENGTH, f"a frame of {length} bytes, shorter than its header"),
        (aligned(length) > room, f"a frame of {length} bytes, where {room} are left"),
        (header.type not in _FRAME_TYPES, f"a frame of type {header.type}, which no log holds"),
        (header.term_offset != offset, f"a frame that says it is at {header.term_offset}"),
    )
    return next((reason for is_so, reason in checks if is_so), None)


def _problems(header: DataHeaderDecoder, stream: Stream) -> Iterator[str]:
    if header.version != FRAME_VERSION:
        yield f"version {header.version}"
    if header.session_id != stream.session_id:
        yield f"session {header.session_id}"
    if header.stream_id != stream.stream_id:
        yield f"stream {header.stream_id}"
    if stream.term_id is not None and header.term_id != stream.term_id:
        yield f"left from term {header.term_id}" if header.term_id < stream.term_id else f"of term {header.term_id}"


def _first_written(term: Term, offset: int) -> int:
    """Return where the first bytes from `offset` on that are not zero begin, aligned down."""
    while (offset := term.next_data(offset) // FRAME_ALIGNMENT * FRAME_ALIGNMENT) < term.length:
        data = term.read(offset, min(_STRIDE_LENGTH, term.length - offset))
        if not data:
            break
        zeros = len(data) - len(data.lstrip(b"\0"))
        if zeros < len(data):
            return offset + zeros // FRAME_ALIGNMENT * FRAME_ALIGNMENT
        offset += aligned(len(data))
    return term.length


def _next_frame(term: Term, stream: Stream, offset: int) -> int:
    """Return the first offset from `offset` on where a frame of the stream stands."""
    while offset < term.length:
        data = term.read(offset, min(_STRIDE_LENGTH, term.length - offset))
        headers = numpy.frombuffer(data, dtype=DATA_HEADER, count=len(data) // HEADER_LENGTH)
        if not len(headers):
            break
        offsets = offset + numpy.arange(len(headers)) * HEADER_LENGTH
        is_frame = (
            (headers["term_offset"] == offsets)
            & (headers["session_id"] == stream.session_id)
            & (headers["stream_id"] == stream.stream_id)
            & (headers["frame_length"] >= HEADER_LENGTH)
            & (headers["frame_length"] <= term.length - offsets)
            & numpy.isin(headers["type"], _FRAME_TYPES)
        )
        if is_frame.any():
            return int(offsets[is_frame.argmax()])
        offset += len(headers) * HEADER_LENGTH
    return term.length
