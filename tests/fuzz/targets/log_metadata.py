"""A hostile log file: mapped as client and as driver, then appended to in every way, claimed, rotated, unblocked and polled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from aerowire.base.errors import AerowireError
from aerowire.ipc.counters import CountersManager
from aerowire.logbuffer import rebuild
from aerowire.logbuffer.append import Claim
from aerowire.logbuffer.concurrent_appender import ConcurrentAppender
from aerowire.logbuffer.exclusive_appender import ExclusiveAppender
from aerowire.logbuffer.log import LogBuffers
from aerowire.memory.region import Region
from tests.fuzz.fields import Fields, int32s, int64s
from tests.fuzz.polls import EveryPoll
from tests.fuzz.target import FindingError
from tests.support.anonymous_regions import AnonymousRegions

TERM, PAGE = 64 * 1024, 4096
SESSION, STREAM, INITIAL_TERM = 77, 1001, 5
PARTS = ((b"a", bytes(100)), (bytes(40), bytes(1500), b""), tuple(bytes(8) for _ in range(40)))
METADATA_SET = 512  # bytes of the metadata that an input may change


class LogMetadataTarget:
    """Changes of the metadata of a good log (offset, length, bytes), one of its terms' first bytes, then what is done with the log."""

    name = "log-metadata"
    length_max = 320
    words = (int32s(TERM), int32s(1 << 30), int32s(1408), int64s((INITIAL_TERM << 32) | 64), int64s(TERM), int32s(2**31 - 1), int32s(-1))
    traced = ()

    def __init__(self) -> None:
        self._regions = AnonymousRegions()
        log = LogBuffers.create(
            "log",
            term_length=TERM,
            mtu_length=1408,
            initial_term_id=INITIAL_TERM,
            session_id=SESSION,
            stream_id=STREAM,
            correlation_id=1,
            page_size=PAGE,
            regions=self._regions,
        )
        assert log.region is not None
        self._view = memoryview(log.region)
        self._metadata_at = 3 * TERM
        self._good = bytes(self._view[self._metadata_at : self._metadata_at + PAGE])
        self._blank = bytes(3 * TERM)
        self._log = log
        self._counters = CountersManager(Region.anonymous(8192), Region.anonymous(2048))
        self._position_id, self._limit_id = self._counters.allocate("sub-pos"), self._counters.allocate("pub-lmt")

    def seeds(self) -> Iterable[bytes]:
        """Return the good log, and one with each eight bytes of its metadata changed."""
        yield b"\x01\0"
        yield b"\xff\0"
        for at in range(0, 256, 8):
            yield b"\xff\x01" + at.to_bytes(2, "little") + b"\x08" + b"\xff" * 8

    def execute(self, data: bytes) -> None:
        """Change the log, map it, and use it."""
        fields = Fields(data)
        how = fields.unsigned(1)
        view, at = self._view, self._metadata_at
        view[at : at + PAGE] = self._good
        changes = fields.unsigned(1) & 7
        for _ in range(changes):
            offset = at + fields.unsigned(2) % METADATA_SET
            changed = fields.take(fields.unsigned(1) & 31)
            view[offset : offset + len(changed)] = changed
        frames = fields.rest()[:256]
        view[: len(frames)] = frames
        try:
            # Not closed: its memory is that of the next execution too.
            self._use(LogBuffers.map("log", regions=self._regions), how, int.from_bytes(frames[-8:], "little", signed=True))
        except AerowireError as error:
            if not changes:
                raise FindingError("a log with good metadata is refused") from error
        finally:
            # All of it: what one execution appends must not make the polls of the next ones longer.
            view[:at] = self._blank

    def _use(self, log: LogBuffers, how: int, position: int) -> None:
        log.metadata_fields()
        for name in ("connected", "transport_count", "eos_position", "revoked", "tail_position", "term_count", "tails"):
            getattr(log, name)
        self._counters.set_value(self._limit_id, 2 * TERM if how & 1 else 1 << 62)
        if how & 2:
            self._append(ConcurrentAppender, log)
        if how & 4:
            self._append(ExclusiveAppender, log)
        if how & 8:
            log.rotate()
            # A driver frees what consumers wait for; where they stand is a counter, which every client may write.
            for blocked in (position, log.tail_position, max(0, log.tail_position - 64)):
                rebuild.unblock(log, blocked)
        if how & 16:
            start = 0 if how & 32 else max(0, min(log.tail_position, 1 << 62) // 32 * 32)
            EveryPoll(log, self._counters, self._position_id, session_id=SESSION, stream_id=STREAM).run(start, how >> 6)

    def _append(self, kind: type[ConcurrentAppender] | type[ExclusiveAppender], log: LogBuffers) -> None:
        appender = kind(log, self._counters, self._limit_id, SESSION, STREAM, max_payload_length=max(32, min(log.mtu, 8192)) - 32)
        for length in (0, 8, 1376, 3000):
            try:
                appender.append(bytes(length))
            except (AerowireError, ValueError):
                continue  # longer than a message may be
        for parts in PARTS:
            with contextlib.suppress(AerowireError, ValueError):
                appender.append_parts(parts)
            with contextlib.suppress(AerowireError, ValueError):
                appender.append_many(parts)
        for ends in (Claim.commit, Claim.abort, None):
            with contextlib.suppress(AerowireError, ValueError):
                _, claim = appender.claim(24)
                if claim is not None and ends is not None:
                    ends(claim)
