# A segment file of a recording, and the one operation that is under way on it.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.base.file_port cimport FileOperation, FilePort, file_is_done, iovec

cdef enum:
    FILE_NONE = -1              # no file is open


# Where the segment begins that holds a position of a recording. Aeron: AeronArchive.segmentFileBasePosition.
cdef inline int64_t segment_base_position(int64_t start_position, int64_t position, int32_t term_length,
                                          int32_t segment_length) noexcept nogil:
    cdef int64_t start_term_base = start_position & -<int64_t>term_length
    return start_term_base + ((position - start_term_base) & -<int64_t>segment_length)


@cython.final
cdef class SegmentFile:
    """SegmentFile(files, directory, recording_id). One operation at a time."""

    cdef FilePort _files
    cdef FileOperation* _operation
    cdef iovec* _piece
    cdef char* _path
    cdef char* _directory
    cdef int32_t _prefix_length     # of the path: all before the position
    cdef char* _suffix              # all behind it
    cdef int32_t handle             # FILE_NONE unless a file is open
    cdef int64_t position           # at which the segment begins that was opened last

    # Each begins an operation, when none is under way and its result was taken.
    cdef void open_segment(self, int64_t position, int32_t flags) noexcept nogil
    cdef void close(self) noexcept nogil
    cdef void read(self, uint8_t* address, int64_t length, int64_t offset) noexcept nogil
    cdef void write(self, const uint8_t* address, int64_t length, int64_t offset) noexcept nogil
    cdef void sync(self, bint is_full) noexcept nogil
    cdef void preallocate(self, int64_t length) noexcept nogil
    cdef void set_length(self, int64_t length) noexcept nogil
    cdef void ask_length(self) noexcept nogil
    cdef void delete(self) noexcept nogil           # by the path that was opened last
    cdef void sync_directory(self) noexcept nogil

    cdef inline bint is_done(self) noexcept nogil:
        return file_is_done(self._operation)

    cdef bint is_at_rest(self) noexcept nogil       # the port uses no memory of an operation any more
    cdef int64_t take_result(self) noexcept nogil   # of the operation that is done: see FileCode, or a negative errno

    cdef void _write_path(self) noexcept nogil
    cdef void _begin(self, int32_t code, const char* path) noexcept nogil       # NULL: of the file that is open
    cdef void _transfer(self, int32_t code, void* address, int64_t length, int64_t offset) noexcept nogil
