# A small table from 64-bit keys to borrowed pointers, for agents that must not touch Python objects.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef enum:
    SLOTS_KEPT_MAX = 1024   # of an empty table

cdef struct PointerEntry:
    int64_t key
    void* value             # NULL: free
    int32_t state           # the owner's own mark

cdef inline int64_t pair_key(int32_t high, int32_t low) noexcept nogil:
    return <int64_t>((<uint64_t><uint32_t>high << 32) | <uint32_t>low)


@cython.final
cdef class PointerMap:
    """PointerMap(capacity_max): open addressing, grown by halves; entries are never NULL. One thread."""

    cdef PointerEntry* _entries
    cdef int _slots                 # power of two
    cdef int _count_max
    cdef readonly int count

    cdef PointerEntry* find(self, int64_t key) noexcept nogil           # NULL when absent; valid until the next put or remove
    cdef PointerEntry* put(self, int64_t key, void* value) noexcept nogil   # NULL when full or out of memory
    cdef bint remove(self, int64_t key) noexcept nogil
    cdef PointerEntry* next_entry(self, int* cursor) noexcept nogil     # walk: cursor from 0; NULL at the end; no put/remove meanwhile
    cdef void clear(self) noexcept nogil
    cdef bint _resize(self, int slots) noexcept nogil
