# The mapped files of this process, for a handler of SIGBUS: which file an address is in, and zero pages in place of lost ones.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    NAME_LENGTH = 256           # of a path's end, with its last zero

cdef struct MappedRange:
    uint8_t* address            # NULL: not in use
    int64_t length
    int32_t is_writable
    int32_t is_guarded          # its owner looks at lost_pages
    int32_t lost_pages          # replaced so far, or found to be missing
    char name[NAME_LENGTH]
    MappedRange* next

# With the interpreter lock
cdef MappedRange* add_range(uint8_t* address, int64_t length, bint is_writable, bytes name) except NULL
cdef void remove_range(MappedRange* entry) noexcept nogil       # replaces its pages first; the caller unmaps them
# Any thread, a signal handler too
cdef MappedRange* range_at(const void* address) noexcept nogil
cdef bint replace_page(MappedRange* entry, void* address) noexcept nogil
cdef void count_lost_pages(MappedRange* entry, int32_t pages) noexcept nogil
cdef int32_t lost_page_total() noexcept nogil       # of all guarded ranges; grows
