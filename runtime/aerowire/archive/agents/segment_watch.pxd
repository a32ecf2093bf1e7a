# Looks from time to time whether the segment that is being written is still there, whole.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.archive.agents.segment_file cimport SegmentFile
from aerowire.base.file_port cimport FilePort

cdef enum WatchResult:
    WATCH_WELL = 0              # or not known yet
    WATCH_MISSING = 1
    WATCH_SHORTENED = 2         # see `found`

cdef enum WatchStep:
    WATCH_NONE = 0
    WATCH_OPEN
    WATCH_LENGTH
    WATCH_CLOSE


@cython.final
cdef class SegmentWatch:
    """SegmentWatch(files, directory, recording_id, segment_length). The recorder's."""

    cdef SegmentFile _file
    cdef int32_t _segment_length
    cdef int32_t _step
    cdef int32_t _seen          # a WatchResult, told when the file is closed
    cdef int64_t _due_ns
    cdef int64_t found          # the length

    # Look at a segment if it is time for it, or go on with a look. What was seen of another segment than this one is forgotten.
    cdef int look(self, int64_t segment_position, int64_t now_ns) noexcept nogil
    cdef int64_t next_deadline_ns(self) noexcept nogil
    cdef bint is_idle(self) noexcept nogil          # go on with a look: whether none is under way any more

    cdef void _go_on(self) noexcept nogil
