"""The messages that captures hold, as a subscriber of their streams would have been given them, and when.

Knows columns of frames, not where messages go.  A stream is read in capture order; each position counts once, whichever path it came by and
however often.  Frames behind a hole wait until it is filled, or until the capture cannot fill it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple

from aerowire.codecs.flyweights.transport import (
    FRAME_ALIGNMENT,
    MAX_MESSAGE_LENGTH,
    TERM_LENGTH_MAX,
    TERM_LENGTH_MIN,
    DataFlags,
    DataHeaderDecoder,
)
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.scanning import PathLike, scan

HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH
WINDOW_MAX = 64 << 20  # bytes of a stream that wait behind a hole: beyond any window that receivers are given in practice
CHOICE_COLUMNS = ("session_id", "stream_id", "term_id", "term_offset", "frame_length")
FRAME_COLUMNS = ("type", "flags", *CHOICE_COLUMNS, "reserved_value", "payload", "ts_ns")
NEVER_DROPPED = ("dropped", "!=", True)  # what induced loss kept off the wire came again, or was lost
CARRIERS = ("type", "in", ("DATA", "PAD"))


class Key(NamedTuple):
    """What names a stream in a capture."""

    session_id: int
    stream_id: int

    def __str__(self) -> str:
        return f"session {self.session_id} stream {self.stream_id}"


class Frame(NamedTuple):
    """One DATA or PAD frame at its place in its stream: [start, end), aligned."""

    start: int
    end: int
    flags: int
    is_padding: bool
    is_cut: bool  # the capture has only the beginning of its payload
    payload: bytes
    reserved_value: int
    ts_ns: int


class Message(NamedTuple):
    """A message, when the capture had the last of it, and the reserved value of its first fragment."""

    ts_ns: int
    payload: bytes
    reserved_value: int


@dataclass(slots=True)
class Counts:
    """What was found in a capture's streams."""

    frames: int = 0
    messages: int = 0
    bytes: int = 0
    incomplete_messages: int = 0  # a part was lost, or lies before or behind the capture
    truncated_messages: int = 0  # the capture holds only the beginning of a packet
    repeated_frames: int = 0  # sent again, or seen on another path
    lost_bytes: int = 0  # of the streams, between their first and last frame

    @property
    def skipped(self) -> int:
        """Messages that were not whole."""
        return self.incomplete_messages + self.truncated_messages

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


@dataclass(slots=True)
class RecordedStream:
    """What a first look at a stream shows: enough to turn terms and offsets into positions."""

    key: Key
    first_term_id: int
    frames: int = 0
    bytes: int = 0
    reach: int = 0  # the end of the furthest frame in a term
    offsets: dict[int, int] = field(default_factory=dict)  # term id -> least offset seen

    @property
    def term_length(self) -> int:
        """The least term length that holds all offsets: the stream's own wherever the capture has the end of a term."""
        length = TERM_LENGTH_MIN
        while length < self.reach and length < TERM_LENGTH_MAX:
            length *= 2
        return length

    def position(self, term_id: int, term_offset: int) -> int:
        """Return a place's distance from the beginning of the first term seen; term ids wrap around."""
        terms = (term_id - self.first_term_id + (1 << 31)) % (1 << 32) - (1 << 31)
        return terms * self.term_length + term_offset

    @property
    def start(self) -> int:
        """The least position that the capture has, which need not come first."""
        return min((self.position(term_id, offset) for term_id, offset in self.offsets.items()), default=0)


@dataclass(slots=True)
class Reassembler:
    """One stream's frames, in any order, as its messages, in order.

    Invariant: nothing below `next` is taken any more; `held` has what lies above it, by position, at most `window` bytes of the stream;
    `starts` is a heap of its positions.
    A sender never is further ahead than the window of its slowest receiver, which is half a term at most: a hole so far behind was filled
    for the receivers, and the capture has not seen it.
    """

    window: int
    counts: Counts
    next: int
    held: dict[int, Frame] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    parts: list[Frame] = field(default_factory=list)
    reached: int = -(1 << 63)
    skipping: bool = False  # between the beginning of a message that was given up and its end

    def take(self, frame: Frame) -> list[Message]:
        """Take one frame; return the messages that are whole now."""
        if frame.start < self.next or (frame.start in self.held and not self.held[frame.start].is_cut):
            self.counts.repeated_frames += 1
            return []
        if frame.start not in self.held:
            heappush(self.starts, frame.start)
        self.held[frame.start] = frame
        self.reached = max(self.reached, frame.end)
        found = self._advance()
        while self.held and self.reached - self.next > self.window:
            self._give_up()
            found += self._advance()
        return found

    def finish(self) -> list[Message]:
        """Return the messages behind holes that nothing filled; the end of the capture is the end of what is not whole."""
        found = []
        while self.held:
            self._give_up()
            found += self._advance()
        if self.parts:
            self._abandon()
        return found

    def _give_up(self) -> None:
        """Go on behind the hole."""
        behind = self.starts[0]
        self.counts.lost_bytes += behind - self.next
        self.next = behind
        if self.parts:
            self._abandon()
            self.skipping = True

    def _advance(self) -> list[Message]:
        found = []
        while (frame := self.held.pop(self.next, None)) is not None:
            self.next = frame.end
            if frame.is_padding:
                if self.parts:
                    self._abandon()
                self.skipping = False
            elif (message := self._join(frame)) is not None:
                found.append(message)
        while self.starts and self.starts[0] < self.next:
            # A frame that is still held begins within one that was taken; no sender sends such frames.
            self.counts.repeated_frames += self.held.pop(heappop(self.starts), None) is not None
        return found

    def _join(self, frame: Frame) -> Message | None:
        """Add a fragment that follows the one before; return the message that it ends."""
        begins, ends = bool(frame.flags & DataFlags.BEGIN), bool(frame.flags & DataFlags.END)
        if begins:
            if self.parts:
                self._abandon()
            self.skipping = False
        elif not self.parts:
            # The beginning is missing: one message, however many fragments are left of it.
            if not self.skipping:
                self.counts.incomplete_messages += 1
            self.skipping = not ends
            return None
        self.parts.append(frame)
        if self.parts[-1].end - self.parts[0].start > 2 * MAX_MESSAGE_LENGTH:  # damage, with all its headers
            self._abandon()
            self.skipping = True
            return None
        return self._whole() if ends else None

    def _whole(self) -> Message | None:
        parts, self.parts = self.parts, []
        if any(part.is_cut for part in parts):
            self.counts.truncated_messages += 1
            return None
        payload = parts[0].payload if len(parts) == 1 else b"".join(part.payload for part in parts)
        self.counts.messages += 1
        self.counts.bytes += len(payload)
        return Message(max(part.ts_ns for part in parts), payload, parts[0].reserved_value)

    def _abandon(self) -> None:
        self.parts.clear()
        self.counts.incomplete_messages += 1


class Recorded:
    """The messages of some streams of captures, in the order in which they became whole.

    `counts` and `position` (bytes read of `length`) are of the last iteration.  Iterating reads the files anew.
    """

    def __init__(self, paths: Sequence[str], streams: Sequence[RecordedStream], ports: frozenset[int] | None = None) -> None:
        self.streams = list(streams)
        self.counts = Counts()
        where: list[tuple[str, str, object]] = [CARRIERS, ("frame_length", ">", 0), NEVER_DROPPED]
        if streams:
            where += [("session_id", "in", sorted({stream.key.session_id for stream in streams}))]
            where += [("stream_id", "in", sorted({stream.key.stream_id for stream in streams}))]
        self.scan = scan(paths, columns=FRAME_COLUMNS, where=where, payload=True, ports=ports)

    def __iter__(self) -> Iterator[Message]:
        self.counts = Counts()
        yield from messages_of((batch.to_pydict() for batch in self.scan), self.streams, self.counts)


def messages_of(batches: Iterable[dict[str, list[Any]]], streams: Sequence[RecordedStream], counts: Counts) -> Iterator[Message]:
    """Yield the messages of some streams; `counts` is added to.

    batches: frames in capture order, by the names of FRAME_COLUMNS; those of other streams are passed over.
    """
    known = {stream.key: stream for stream in streams}
    reassemblers = {key: Reassembler(min(stream.term_length // 2, WINDOW_MAX), counts, stream.start) for key, stream in known.items()}
    for batch in batches:
        for kind, flags, session_id, stream_id, term_id, term_offset, length, reserved, payload, ts_ns in zip(
            *(batch[name] for name in FRAME_COLUMNS), strict=True
        ):
            key = Key(session_id, stream_id)
            reassembler = reassemblers.get(key)
            if reassembler is None:
                continue
            counts.frames += 1
            start = known[key].position(term_id, term_offset)
            body = b"" if payload is None else payload
            is_padding = kind == "PAD"
            is_cut = not is_padding and len(body) < length - HEADER_LENGTH
            end = start + (length + FRAME_ALIGNMENT - 1 & -FRAME_ALIGNMENT)
            yield from reassembler.take(Frame(start, end, flags, is_padding, is_cut, body, reserved or 0, ts_ns))
    for reassembler in reassemblers.values():
        yield from reassembler.finish()


def find_streams(paths: Sequence[PathLike], ports: frozenset[int] | None = None) -> list[RecordedStream]:
    """Return the streams of captures that carry data, in the order in which they appear.  Raises CaptureError as `scan` does."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    found: dict[Key, RecordedStream] = {}
    where = [CARRIERS, ("frame_length", ">", 0), NEVER_DROPPED]
    for batch in scan(paths, columns=[*CHOICE_COLUMNS, "type"], where=where, ports=ports):
        table = pa.Table.from_batches([batch]).append_column("end", pc.add(batch["term_offset"], batch["frame_length"]))
        sums = [("type", "count"), ("frame_length", "sum"), ("end", "max"), ("term_offset", "min")]
        grouped = table.group_by(["session_id", "stream_id", "term_id"], use_threads=False).aggregate(sums)
        for row in grouped.to_pylist():
            key, term_id = Key(row["session_id"], row["stream_id"]), row["term_id"]
            stream = found.setdefault(key, RecordedStream(key, term_id))
            stream.frames += row["type_count"]
            stream.bytes += row["frame_length_sum"] - row["type_count"] * HEADER_LENGTH
            stream.reach = max(stream.reach, row["end_max"])
            stream.offsets[term_id] = min(stream.offsets.get(term_id, row["term_offset_min"]), row["term_offset_min"])
    return list(found.values())


def choose(
    streams: Sequence[RecordedStream], *, session_id: int | None, stream_id: int | None, every: bool, where: str
) -> list[RecordedStream]:
    """Return the streams that are asked for: one, unless `every`.  Raises CaptureError for none, or for several with the choice."""
    chosen = [
        stream
        for stream in streams
        if stream.key.session_id == (session_id if session_id is not None else stream.key.session_id)
        and stream.key.stream_id == (stream_id if stream_id is not None else stream.key.stream_id)
    ]
    held = "; ".join(f"{stream.key} ({stream.frames:,} frames, {stream.bytes:,} bytes)" for stream in streams[:20])
    more = f"; and {len(streams) - 20} more" if len(streams) > 20 else ""
    if not chosen:
        raise CaptureError(f"{where}: no data of such a stream; the capture holds {held + more or 'no data at all'}")
    if len(chosen) > 1 and not every:
        raise CaptureError(
            f"{where}: {len(chosen)} streams, expected one; choose with --session and --stream-id, or take --all: {held}{more}"
        )
    return chosen
