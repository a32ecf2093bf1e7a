"""Looks from time to time whether the segment that is being written is still there, whole.

A file that was removed or cut takes what is written into it without an error. So it is opened by its name, now and then, and its length is
asked.
"""

from libc.errno cimport ENOENT
from libc.stdint cimport INT64_MAX, int32_t, int64_t

cdef enum:
    WATCH_INTERVAL_NS = 1000000000      # a removed segment is noticed within about a second


cdef class SegmentWatch:
    """Sees a segment that has no name any more, or is shorter than it was made.

    Errors of other kinds mean nothing: it looks again later.
    """

    def __cinit__(self, FilePort files not None, directory, int64_t recording_id, int32_t segment_length):
        self._file = SegmentFile(files, directory, recording_id)
        self._segment_length = segment_length

    cdef int look(self, int64_t segment_position, int64_t now_ns) noexcept nogil:
        if self._step == WATCH_NONE:
            if now_ns < self._due_ns:
                return WATCH_WELL
            self._due_ns = now_ns + WATCH_INTERVAL_NS
            self._seen = WATCH_WELL
            self._step = WATCH_OPEN
            self._file.open_segment(segment_position, 0)
        return self._seen if self.is_idle() and self._file.position == segment_position else WATCH_WELL

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        return self._due_ns if self._step == WATCH_NONE else INT64_MAX

    cdef bint is_idle(self) noexcept nogil:
        while self._step != WATCH_NONE and self._file.is_done():
            self._go_on()
        return self._step == WATCH_NONE

    cdef void _go_on(self) noexcept nogil:
        cdef int64_t result = self._file.take_result()
        cdef int32_t step = self._step
        self._step = WATCH_NONE
        if step == WATCH_OPEN:
            if result == -ENOENT:
                self._seen = WATCH_MISSING
            elif result >= 0:
                self._step = WATCH_LENGTH
                self._file.ask_length()
        elif step == WATCH_LENGTH:
            if 0 <= result < self._segment_length:
                self._seen = WATCH_SHORTENED
                self.found = result
            self._step = WATCH_CLOSE
            self._file.close()
