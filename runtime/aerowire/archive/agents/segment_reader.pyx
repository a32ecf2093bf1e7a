"""Reads pieces of a recording from its segment files, each step an operation of the files port."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

cimport cython

from aerowire.archive.agents.segment_file cimport FILE_NONE, segment_base_position


@cython.no_gc_clear
@cython.final
cdef class SegmentReader:
    """One replay's way to its files: a segment is open from its first byte that is read until a byte of another one is.

    Invariant: filled <= wanted <= capacity.
    """

    def __cinit__(self, FilePort files not None, directory, int64_t recording_id, int64_t start_position, int32_t term_length,
                  int32_t segment_length, int32_t capacity):
        self._file = SegmentFile(files, directory, recording_id)
        self._start_position = start_position
        self._term_length = term_length
        self._segment_length = segment_length
        self.capacity = capacity
        self.buffer = <uint8_t*>malloc(capacity)
        if self.buffer is NULL:
            raise MemoryError(f"{capacity} bytes for a replay")

    def __dealloc__(self):
        if self._file is None or self._file.is_at_rest():       # else it is filled later
            free(self.buffer)

    cdef void read(self, int64_t position, int64_t length) noexcept nogil:
        self.position = position
        self.segment_position = segment_base_position(self._start_position, position, self._term_length, self._segment_length)
        self.wanted = <int32_t>min(length, <int64_t>self.capacity, self.segment_position + self._segment_length - position)
        self.filled = 0
        if self._file.handle == FILE_NONE:
            self._begin(READ_OPEN)
        elif self._file.position != self.segment_position:
            self._begin(READ_CLOSE)
        else:
            self._read_rest()

    cdef void close(self) noexcept nogil:
        if self._file.handle != FILE_NONE:
            self._begin(READ_END)

    cdef int poll(self) noexcept nogil:
        while self._step != READ_NONE:
            if not self._file.is_done():
                return READER_BUSY
            self._on_done(self._file.take_result())
        return READER_FAILED if self.error else READER_READY

    cdef void _begin(self, int32_t step) noexcept nogil:
        self._step = step
        if step == READ_OPEN:
            self._file.open_segment(self.segment_position, 0)
        else:
            self._file.close()

    cdef void _read_rest(self) noexcept nogil:
        self._step = READ_BYTES
        self._file.read(self.buffer + self.filled, self.wanted - self.filled, self.position - self.segment_position + self.filled)

    cdef void _on_done(self, int64_t result) noexcept nogil:
        cdef int32_t step = self._step
        self._step = READ_NONE
        if step == READ_CLOSE:                  # nothing was written: how it went means nothing
            self._begin(READ_OPEN)
        elif step == READ_END:
            pass
        elif result < 0:
            self.error = -result
        elif step == READ_OPEN:
            self._read_rest()
        elif result > 0:
            self.filled += <int32_t>result
            if self.filled < self.wanted:
                self._read_rest()
