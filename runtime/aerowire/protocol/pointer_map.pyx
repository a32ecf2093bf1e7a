"""A small table from 64-bit keys to borrowed pointers, for agents that must not touch Python objects."""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

cimport cython


cdef inline int home_of(int64_t key, int mask) noexcept nogil:
    return <int>((<uint64_t>key * <uint64_t>0x9E3779B97F4A7C15ULL) >> 40) & mask


@cython.final
cdef class PointerMap:
    """Linear probing with backward-shift removal. Invariant: count <= count_max and count < 3/4 of the slots.

    A table that was large gives its memory back when it becomes empty.
    """

    def __cinit__(self, int capacity_max):
        self._count_max = capacity_max

    def __dealloc__(self):
        free(self._entries)

    cdef PointerEntry* find(self, int64_t key) noexcept nogil:
        cdef int mask = self._slots - 1
        cdef int slot
        if self.count == 0:
            return NULL
        slot = home_of(key, mask)
        while self._entries[slot].value is not NULL:
            if self._entries[slot].key == key:
                return &self._entries[slot]
            slot = (slot + 1) & mask
        return NULL

    cdef PointerEntry* put(self, int64_t key, void* value) noexcept nogil:
        cdef PointerEntry* entry = self.find(key)
        cdef int slot, mask
        if entry is not NULL:
            entry.value = value
            return entry
        if self.count >= self._count_max:
            return NULL
        if self.count + 1 > self._slots - (self._slots >> 2) and not self._resize(self._slots * 2 if self._slots else 8):
            return NULL
        mask = self._slots - 1
        slot = home_of(key, mask)
        while self._entries[slot].value is not NULL:
            slot = (slot + 1) & mask
        self._entries[slot].key = key
        self._entries[slot].value = value
        self._entries[slot].state = 0
        self.count += 1
        return &self._entries[slot]

    cdef bint remove(self, int64_t key) noexcept nogil:
        cdef int mask = self._slots - 1
        cdef PointerEntry* entry = self.find(key)
        cdef int hole, slot, home
        if entry is NULL:
            return False
        hole = <int>(entry - self._entries)
        slot = hole
        while True:
            slot = (slot + 1) & mask
            if self._entries[slot].value is NULL:
                break
            home = home_of(self._entries[slot].key, mask)
            if ((slot - home) & mask) >= ((slot - hole) & mask):    # it may move back into the hole
                self._entries[hole] = self._entries[slot]
                hole = slot
        self._entries[hole].value = NULL
        self.count -= 1
        if self.count == 0 and self._slots > SLOTS_KEPT_MAX:
            free(self._entries)
            self._entries = NULL
            self._slots = 0
        return True

    cdef PointerEntry* next_entry(self, int* cursor) noexcept nogil:
        while cursor[0] < self._slots:
            cursor[0] += 1
            if self._entries[cursor[0] - 1].value is not NULL:
                return &self._entries[cursor[0] - 1]
        return NULL

    cdef void clear(self) noexcept nogil:
        if self._slots:
            memset(self._entries, 0, self._slots * sizeof(PointerEntry))
        self.count = 0

    cdef bint _resize(self, int slots) noexcept nogil:
        cdef PointerEntry* old = self._entries
        cdef PointerEntry* grown = <PointerEntry*>calloc(slots, sizeof(PointerEntry))
        cdef int i, slot
        if grown is NULL:
            return False
        for i in range(self._slots):
            if old[i].value is not NULL:
                slot = home_of(old[i].key, slots - 1)
                while grown[slot].value is not NULL:
                    slot = (slot + 1) & (slots - 1)
                grown[slot] = old[i]
        self._entries = grown
        self._slots = slots
        free(old)
        return True

    def set(self, int64_t key, size_t value) -> bool:
        """Map `key` to a non-zero number; return False when the table is full."""
        return self.put(key, <void*>value) is not NULL

    def get(self, int64_t key) -> int:
        """Return the number of `key`, 0 when absent."""
        cdef PointerEntry* entry = self.find(key)
        return 0 if entry is NULL else <size_t>entry.value

    def discard(self, int64_t key) -> bool:
        """Remove `key`; return whether it was there."""
        return self.remove(key)
