"""A log with any frames in it, behind a subscriber's image: every way of polling."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from aerowire.ipc.counters import CountersManager
from aerowire.logbuffer.log import LogBuffers
from aerowire.memory.region import Region
from tests.fuzz.fields import Fields, int32s
from tests.fuzz.polls import EveryPoll

TERM = 64 * 1024
HEADER = 32
SESSION, STREAM, INITIAL_TERM = 77, 1001, 5


def write_frames(fields: Fields, terms: tuple[memoryview, ...], at: int, touched: list[tuple[int, int]]) -> None:
    """Write frames into the terms from position `at`, as the input describes them.

    A frame is a control byte and those fields that it announces: 1 another offset, 2 four bytes of length instead of one, 4 flags and
    type, 8 term and term offset, 16 session and stream, 32 bytes over the payload, 64 the next term.
    """
    while not fields.is_empty:
        control = fields.unsigned(1)
        if control & 64:
            at = (at // TERM + 1) * TERM
        if control & 1:
            at = at // TERM * TERM + fields.unsigned(2) // HEADER * HEADER
        length = fields.signed(4) if control & 2 else HEADER + fields.unsigned(1)
        flags, kind = (fields.unsigned(1), fields.unsigned(2)) if control & 4 else (0xC0, 1)
        offset = at % TERM
        place = (INITIAL_TERM + at // TERM, offset)
        if control & 8:
            place = fields.signed(4), fields.signed(4)
        session, stream = (fields.signed(4), fields.signed(4)) if control & 16 else (SESSION, STREAM)
        header = int32s(length) + bytes([0, flags]) + kind.to_bytes(2, "little") + int32s(place[1], session, stream, place[0]) + bytes(8)
        term = terms[at // TERM % 3]
        written = (header + (fields.take(fields.unsigned(1)) if control & 32 else b""))[: TERM - offset]
        term[offset : offset + len(written)] = written
        touched.append((at // TERM % 3, offset))
        if 0 < length <= TERM:
            at += -(-length // HEADER) * HEADER


class LogPollsTarget:
    """A start position, then frames; then each kind of poll begins there."""

    name = "log-polls"
    length_max = 512
    words = (
        int32s(0x7FFFFFFF),
        int32s(0x40000000),
        int32s(TERM),
        b"\x80\x01\x00",
        b"\x40\x01\x00",
        b"\x00\x01\x00",
        b"\xc0\x00\x00",
        b"\x02\x1f",
    )
    traced = ()

    def __init__(self) -> None:
        # A file, which raw polls open.
        self._log = LogBuffers.create(
            Path(tempfile.mkdtemp(prefix="log-")) / "log",
            term_length=TERM,
            mtu_length=1408,
            initial_term_id=INITIAL_TERM,
            session_id=SESSION,
            stream_id=STREAM,
            correlation_id=1,
            page_size=4096,
        )
        self._terms = tuple(self._log.term_view(at) for at in range(3))
        self._blank = bytes(512)
        self._counters = CountersManager(Region.anonymous(8192), Region.anonymous(2048))
        position_id = self._counters.allocate("sub-pos")
        self._every_poll = EveryPoll(self._log, self._counters, position_id, session_id=SESSION, stream_id=STREAM, has_file=True)

    def seeds(self) -> Iterable[bytes]:
        """Return logs with messages, fragments, padding at the end of a term, and frames that lie."""
        yield b"\0\0\0\0"
        yield b"\0\0\0\0" + b"\x00\x08" * 4
        yield b"\0\0\0\0" + b"\x04\x10\x80\x01\x00" + b"\x04\x10\x00\x01\x00" + b"\x04\x10\x40\x01\x00"
        yield b"\0\xff\x07\0" + b"\x06" + int32s(32) + b"\xc0\x00\x00" + b"\x40\x08"
        yield b"\0\0\0\0" + b"\x00\x08\x02" + int32s(0x40000000)

    def execute(self, data: bytes) -> None:
        """Write frames, poll in every way from the same position, and take the frames away."""
        fields = Fields(data)
        skipped = fields.unsigned(1) & 3
        start = fields.unsigned(2) * HEADER % TERM + TERM * (fields.unsigned(1) % 3)
        touched: list[tuple[int, int]] = []
        write_frames(fields, self._terms, start, touched)
        try:
            self._every_poll.run(start, skipped)
        finally:
            for index, offset in touched:
                length = min(len(self._blank), TERM - offset)
                self._terms[index][offset : offset + length] = self._blank[:length]
