"""Pages of mapped files that are no longer there: the file was cut short, or its file system is full.

The kernel answers an access to such a page with SIGBUS.  A handler (aerowire.system.bus_error) looks up the mapping here and puts a page of
zeros in place of the lost one, so that the access succeeds.  The owner of a guarded mapping sees the count of its lost pages and closes what
uses the mapping.  The list of ranges only grows and its entries are reused, so that a signal handler can walk it without a lock.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport calloc
from libc.string cimport memcpy

import mmap

from aerowire.memory.atomics cimport fetch_add_i32, load_acquire_i32, load_acquire_i64, store_release_i64

cdef extern from "<sys/mman.h>" nogil:
    void* map_memory "mmap"(void* address, size_t length, int protection, int flags, int fd, int64_t offset)
    int PROT_READ, PROT_WRITE, MAP_PRIVATE, MAP_ANONYMOUS, MAP_FIXED, MAP_NORESERVE
    void* MAP_FAILED

cdef enum:
    ENTRIES_PER_BLOCK = 64

cdef uintptr_t page_size = mmap.PAGESIZE
cdef MappedRange* first = NULL      # stored with release when its entries are whole: see _add_entries
cdef int32_t total = 0


cdef MappedRange* add_range(uint8_t* address, int64_t length, bint is_writable, bytes name) except NULL:
    cdef MappedRange* entry = first
    cdef bytes end = name[-(NAME_LENGTH - 1):] + b"\0"
    # Acquire: whoever removed a range reads its entry until it stores NULL, and holds no lock.
    while entry is not NULL and load_acquire_i64(&entry.address) != 0:
        entry = entry.next
    if entry is NULL:
        entry = _add_entries()
    entry.length = length
    entry.is_writable = is_writable
    entry.is_guarded = 0
    entry.lost_pages = 0
    memcpy(entry.name, <const char*>end, len(end))
    store_release_i64(&entry.address, <int64_t>address)
    return entry


cdef MappedRange* _add_entries() except NULL:
    """Lengthen the list by unused entries, in one block: single ones would keep pages of the heap in use all over it."""
    cdef MappedRange* block = <MappedRange*>calloc(ENTRIES_PER_BLOCK, sizeof(MappedRange))
    cdef int i
    if block is NULL:
        raise MemoryError("list of mapped files")
    for i in range(ENTRIES_PER_BLOCK - 1):
        block[i].next = &block[i + 1]
    block[ENTRIES_PER_BLOCK - 1].next = first
    store_release_i64(&first, <int64_t>block)
    return block


cdef void remove_range(MappedRange* entry) noexcept nogil:
    # Anonymous pages take the place of the file's BEFORE the range goes: an access between the two raises no SIGBUS, and the range goes
    # before another mapping can have its addresses.
    _replace(entry.address, <size_t>entry.length, entry.is_writable)
    store_release_i64(&entry.address, 0)


cdef MappedRange* range_at(const void* address) noexcept nogil:
    cdef MappedRange* entry = <MappedRange*>load_acquire_i64(&first)
    cdef uint8_t* begin
    while entry is not NULL:
        begin = <uint8_t*>load_acquire_i64(&entry.address)
        if begin is not NULL and begin <= <const uint8_t*>address < begin + entry.length:
            return entry
        entry = entry.next
    return NULL


cdef bint replace_page(MappedRange* entry, void* address) noexcept nogil:
    if not _replace(<void*>(<uintptr_t>address & ~(page_size - 1)), page_size, entry.is_writable):
        return False
    count_lost_pages(entry, 1)
    return True


cdef bint _replace(void* address, size_t length, bint is_writable) noexcept nogil:
    cdef int protection = PROT_READ | PROT_WRITE if is_writable else PROT_READ
    return map_memory(address, length, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED


cdef void count_lost_pages(MappedRange* entry, int32_t pages) noexcept nogil:
    fetch_add_i32(&entry.lost_pages, pages)
    fetch_add_i32(&total, pages)


cdef int32_t lost_page_total() noexcept nogil:
    return load_acquire_i32(&total)


def lost_pages() -> int:
    """Return the lost pages of all mappings that were found since the process began: look at the mappings when it has grown."""
    return lost_page_total()
