# Reads pieces of a recording from its segment files.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.archive.agents.segment_file cimport SegmentFile
from aerowire.base.file_port cimport FilePort

cdef enum ReaderState:
    READER_READY = 0            # nothing is under way: `filled` bytes were read, fewer than asked for where the file ends
    READER_BUSY = 1
    READER_FAILED = 2           # for good; see `error`

cdef enum ReaderStep:
    READ_NONE = 0
    READ_OPEN
    READ_BYTES
    READ_CLOSE                  # the segment before
    READ_END                    # close the last one


@cython.final
cdef class SegmentReader:
    """SegmentReader(files, directory, recording_id, start_position, term_length, segment_length, capacity). The replayer's."""

    cdef SegmentFile _file
    cdef int64_t _start_position
    cdef int32_t _term_length
    cdef int32_t _segment_length
    cdef int32_t _step
    cdef uint8_t* buffer
    cdef int32_t capacity       # of it
    cdef int32_t wanted
    cdef int32_t filled
    cdef int64_t position       # at which the bytes in the buffer begin
    cdef int64_t segment_position   # at which their segment begins
    cdef int64_t error          # an errno

    # At most `length` bytes from a position on, of its segment and at most `capacity`. Follow by poll().
    cdef void read(self, int64_t position, int64_t length) noexcept nogil
    cdef void close(self) noexcept nogil        # when nothing is under way; follow by poll()
    cdef int poll(self) noexcept nogil          # go on with what is done; a ReaderState

    cdef void _begin(self, int32_t step) noexcept nogil
    cdef void _read_rest(self) noexcept nogil
    cdef void _on_done(self, int64_t result) noexcept nogil
