# Where the valid recordings of a catalog are, by recording id.

cimport cython
from libc.stdint cimport int64_t, uint8_t


cdef struct IndexRow:
    int64_t recording_id
    int64_t offset


@cython.final
cdef class CatalogIndex:
    cdef IndexRow* rows         # ascending by recording id
    cdef int count
    cdef int _capacity

    # Of the first recording with this id or a higher one; `count` without any.
    cdef int row_from(self, int64_t recording_id) noexcept nogil

# Where an entry ends that begins at an offset; -1 where its length cannot be.
cdef int64_t entry_end(const uint8_t* entry, int64_t offset, int64_t limit, bint is_legacy) noexcept nogil
# Whether the original channel of an indexed entry, whose texts lie within it, contains a fragment.
cdef bint has_fragment(const uint8_t* descriptor, const uint8_t* fragment, int64_t length) noexcept nogil
