# The bytes of a simulated file, twice: as processes see them, and as they are on the disk.

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t

from aerowire.memory.region cimport Region
from aerowire.system.random cimport SeededRandom

cdef enum:
    PAGE = 4096
    SECTOR = 512
    CONTENT_BITS_MAX = 32       # of a file's length

# What is known of a page, as bits.
cdef enum PageState:
    PAGE_TAKEN = 1          # takes space on the disk
    PAGE_DIRTY = 2          # written since the last sync, not yet given up
    PAGE_GIVEN_UP = 4       # its sync failed: reads show it, and no later sync writes it


@cython.final
cdef class FileContent:
    cdef int64_t length             # as processes see it
    cdef int64_t durable_length     # as it is on the disk
    cdef bint is_mapped
    cdef Region _seen
    cdef Region _durable
    cdef uint8_t* _states           # of each page
    cdef int64_t _pages             # that there is memory for

    cdef int64_t reserve(self, int64_t length)                      # 0 or a negative errno
    cdef int64_t pages_in_use(self) noexcept nogil                  # that processes or the disk see
    cdef int64_t pages_taken(self) noexcept nogil
    cdef void copy_durable(self, int64_t page, int64_t other) noexcept nogil
    cdef void flip_durable(self, int64_t page, int64_t bit) noexcept nogil
    cdef int64_t read(self, int64_t offset, uint8_t* out, int64_t length) noexcept nogil
    cdef void write(self, int64_t offset, const uint8_t* octets, int64_t length) noexcept nogil     # within what is reserved
    cdef void set_length(self, int64_t length) noexcept nogil
    cdef int64_t pages_missing(self, int64_t offset, int64_t length) noexcept nogil     # that take no space yet
    cdef int64_t take_pages(self, int64_t offset, int64_t length) noexcept nogil        # how many were taken now
    cdef int64_t give_pages(self, int64_t length) noexcept nogil                        # how many were given back beyond a length
    cdef bint is_unsynced(self, int64_t page) noexcept nogil
    cdef void persist_page(self, int64_t page) noexcept nogil
    cdef void persist_some(self, SeededRandom random, double chance) noexcept nogil     # what a writeback happens to have done
    cdef void sync(self) noexcept nogil
    cdef void fail_sync(self, SeededRandom random) noexcept nogil
    cdef void lose_power(self, SeededRandom random, int64_t unit)
    cdef int64_t _surviving_length(self, SeededRandom random)
    cdef void _read_anew(self, int64_t page) noexcept nogil
    cdef void _move(self, uint8_t* target, const uint8_t* source) noexcept nogil
