"""A log buffer file, read and never mapped: a term may be a gigabyte of holes, which mapping would fill."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aerowire.codecs.flyweights.logbuffer import LogType
from aerowire.codecs.flyweights.logbuffer import log_metadata_tail_counters_term_id as _tail_term_id
from aerowire.codecs.flyweights.logbuffer import log_metadata_tail_counters_term_offset as _tail_offset
from aerowire.codecs.flyweights.transport import DataHeaderDecoder
from aerowire.logbuffer.descriptor import position_of
from aerowire.logbuffer.log import LogBuffers
from aerowire.tools.log.log_frames import Frame, Stream, Zeros, entries_of

_CACHE_LENGTH = 1 << 16

ACTIVE, COMPLETE, OLD, CLEAN, UNUSED, RECEIVED = "active", "complete", "old: to be cleaned", "clean", "unused", "received"


@dataclass(frozen=True, slots=True)
class TermState:
    """One of the three terms. `position` is that of the tail: where the next message goes; None for images, whose tails nobody moves."""

    index: int
    state: str
    term_id: int
    tail_offset: int | None
    position: int | None


class LogReader:
    """The file's metadata, as it was when it was opened, and its terms, as they are.

    Raises what LogBuffers.map does for a file that is no log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with LogBuffers.map(path, writable=False) as log:
            self.metadata: dict[str, Any] = log.metadata_fields()
            # A tail runs past its term's end when a writer finds no room; what LogBuffers tells is cut there.
            self.tails = [(_tail_term_id(raw), _tail_offset(raw)) for raw in self.metadata["tail_counters"]]
            self.tail_position = log.tail_position
        self._descriptor = os.open(path, os.O_RDONLY)
        header = DataHeaderDecoder(bytes(self.metadata["default_header"]))
        self.stream = Stream(header.session_id, header.stream_id)

    @property
    def term_length(self) -> int:
        """Bytes of a term."""
        length: int = self.metadata["term_length"]
        return length

    @property
    def is_image(self) -> bool:
        """Whether a receiver rebuilt the log."""
        return bool(self.metadata["type"] == LogType.PUBLICATION_IMAGE)

    @property
    def type_text(self) -> str:
        """Who writes the log, in words."""
        try:
            return LogType(self.metadata["type"]).name.lower().replace("_", " ")
        except ValueError:
            return f"type {self.metadata['type']}"

    @property
    def active_index(self) -> int:
        """The partition that is written now: for an image, whose count nobody moves, that of the newest frames."""
        return next((state.index for state in self.terms() if state.state == ACTIVE), self._active_index)

    @property
    def _active_index(self) -> int:
        active: int = self.metadata["active_term_count"] % len(self.tails)
        return active

    def term(self, index: int) -> FileTerm:
        """Return the bytes of a term."""
        return FileTerm(self._descriptor, index * self.term_length, self.term_length)

    def expected(self, index: int) -> Stream:
        """Return whose frames a term should hold."""
        state = self.terms()[index]
        return self.stream._replace(term_id=state.term_id if state.state in {ACTIVE, COMPLETE, RECEIVED} else None)

    def terms(self) -> list[TermState]:
        """Return the state of the terms, by index."""
        if not self.is_image:
            return [self._publication_term(index) for index in range(len(self.tails))]
        states = [self._image_term(index) for index in range(len(self.tails))]
        received = [state.term_id for state in states if state.state == RECEIVED]
        newest = max(received, key=lambda term_id: (term_id - received[0]) % (1 << 32) % (1 << 31), default=None)
        return [replace(state, state=ACTIVE) if state.state == RECEIVED and state.term_id == newest else state for state in states]

    def _publication_term(self, index: int) -> TermState:
        active_id = self.tails[self._active_index][0]
        term_id, tail_offset = self.tails[index]
        offset = min(tail_offset, self.term_length)
        if term_id < self.metadata["initial_term_id"]:
            return TermState(index, UNUSED, term_id, None, None)
        position = position_of(term_id, offset, self.term_length, self.metadata["initial_term_id"])
        state = {active_id: ACTIVE, active_id - 1: COMPLETE}.get(term_id) or (CLEAN if self._is_clean(index) else OLD)
        return TermState(index, state, term_id, tail_offset, position)

    def _is_clean(self, index: int) -> bool:
        term = self.term(index)
        first = next(entries_of(term, self.stream))
        return isinstance(first, Zeros) and first.length == term.length

    def _image_term(self, index: int) -> TermState:
        # Only frames tell: the first one that is there decides.
        first = next((entry for entry in entries_of(self.term(index), self.stream) if isinstance(entry, Frame)), None)
        if first is None:
            return TermState(index, UNUSED, self.metadata["initial_term_id"] + index, None, None)
        return TermState(index, RECEIVED, first.term_id, None, None)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


class FileTerm:
    """A term within an open file. See log_frames.Term."""

    def __init__(self, descriptor: int, begin: int, length: int) -> None:
        self._descriptor = descriptor
        self._begin = begin
        self._length = length
        self._cache = b""
        self._cache_offset = 0

    @property
    def length(self) -> int:
        return self._length

    def read(self, offset: int, length: int) -> bytes:
        if length > _CACHE_LENGTH:
            return os.pread(self._descriptor, length, self._begin + offset)
        at = offset - self._cache_offset
        if not 0 <= at <= len(self._cache) - length:
            self._cache = os.pread(self._descriptor, min(_CACHE_LENGTH, self._length - offset), self._begin + offset)
            self._cache_offset, at = offset, 0
        return self._cache[at : at + length]

    def next_data(self, offset: int) -> int:
        if offset >= self._length:
            return self._length
        try:
            found = os.lseek(self._descriptor, self._begin + offset, os.SEEK_DATA) - self._begin
        except OSError as error:
            if error.errno == errno.ENXIO:
                return self._length  # there is none behind it
            return offset  # a file system that cannot tell
        return min(found, self._length)
