"""Numbers for short byte strings, in the order in which they are first met.  `keys_fallback` is the same in Python."""

import os

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy

cdef enum:
    FIRST_SLOTS = 1024          # a power of two, as all sizes of a table


cdef inline uint64_t mixed(uint64_t value) noexcept nogil:
    value ^= value >> 32
    value *= <uint64_t>0x9E3779B97F4A7C15
    return value ^ (value >> 29)


cdef class KeyTable:
    """Keys of one width and their numbers.

    Invariant: at most half of the slots are taken; a slot holds a key's number plus one, or zero.
    """

    cdef int64_t width, count, room, slots
    cdef uint8_t* keys
    cdef int64_t* numbers
    cdef uint64_t seed          # keys come from a network: nobody shall know which of them collide

    def __cinit__(self, int64_t width):
        if width <= 0:
            raise ValueError(f"keys of {width} bytes; expected at least 1")
        self.width, self.count, self.room, self.slots = width, 0, 0, FIRST_SLOTS
        self.keys = NULL
        self.numbers = <int64_t*>calloc(FIRST_SLOTS, sizeof(int64_t))
        if self.numbers == NULL:
            raise MemoryError
        self.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        free(self.keys)
        free(self.numbers)

    def __len__(self):
        return self.count

    def keys_from(self, int64_t first):
        """Return the keys with the numbers `first` and up."""
        cdef int64_t number
        return [self.keys[number * self.width : (number + 1) * self.width] for number in range(max(0, first), self.count)]

    cdef inline uint64_t hashed(self, const uint8_t* key) noexcept nogil:
        cdef uint64_t value = self.seed, word
        cdef int64_t at = 0
        while at + 8 <= self.width:
            memcpy(&word, key + at, 8)
            value = mixed(value ^ word)
            at += 8
        word = 0
        memcpy(&word, key + at, self.width - at)
        return mixed(mixed(value ^ word) + <uint64_t>self.width)

    cdef inline int64_t find(self, const uint8_t* key) noexcept nogil:
        """Return the slot of a key, or the empty one where it belongs."""
        cdef int64_t slot = <int64_t>(self.hashed(key) & <uint64_t>(self.slots - 1))
        while self.numbers[slot] != 0 and memcmp(self.keys + (self.numbers[slot] - 1) * self.width, key, self.width) != 0:
            slot = (slot + 1) & (self.slots - 1)
        return slot

    cdef bint grow(self) noexcept nogil:
        """Make room for one more key; return whether there is."""
        cdef int64_t number, slots = self.slots
        cdef int64_t* numbers
        cdef uint8_t* keys
        if self.count == self.room:
            keys = <uint8_t*>realloc(self.keys, max(2 * self.room, FIRST_SLOTS) * self.width)
            if keys == NULL:
                return False
            self.keys, self.room = keys, max(2 * self.room, FIRST_SLOTS)
        if 2 * self.count >= slots:
            numbers = <int64_t*>calloc(2 * slots, sizeof(int64_t))
            if numbers == NULL:
                return False
            free(self.numbers)
            self.numbers, self.slots = numbers, 2 * slots
            for number in range(self.count):
                self.numbers[self.find(self.keys + number * self.width)] = number + 1
        return True

    cdef int64_t number_all(self, const uint8_t* keys, int64_t count, int64_t* out) noexcept nogil:
        """Number `count` keys; return how many of them there was memory for."""
        cdef int64_t row, slot
        cdef const uint8_t* key
        for row in range(count):
            key = keys + row * self.width
            if row and memcmp(key, key - self.width, self.width) == 0:
                out[row] = out[row - 1]
                continue
            slot = self.find(key)
            if self.numbers[slot] == 0:
                if not self.grow():
                    return row
                slot = self.find(key)
                memcpy(self.keys + self.count * self.width, key, self.width)
                self.count += 1
                self.numbers[slot] = self.count
            out[row] = self.numbers[slot] - 1
        return count

    def number(self, const uint8_t[:, ::1] keys):
        """Return each key's number.  Raises ValueError for keys of another width."""
        cdef int64_t count = keys.shape[0], done
        cdef int64_t[::1] out_
        if keys.shape[1] != self.width:
            raise ValueError(f"keys of {keys.shape[1]} bytes; expected {self.width}")
        out = np.empty(count, dtype=np.int64)
        if count:
            out_ = out
            with nogil:
                done = self.number_all(&keys[0, 0], count, &out_[0])
            if done < count:
                raise MemoryError(f"no room for {self.count + 1} keys")
        return out
