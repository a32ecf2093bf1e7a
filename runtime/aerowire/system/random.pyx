"""xoshiro256** with its state spread from one seed by splitmix64: same seed, same numbers, on every machine.

The algorithms are Blackman's and Vigna's, in the public domain.  Not for secrets: those are numbers of the operating system.
"""

from libc.stdint cimport uint64_t

import os

from aerowire.base.ports cimport RandomPort


cdef inline uint64_t rotate_left(uint64_t value, int count) noexcept nogil:
    return (value << count) | (value >> (64 - count))


cdef class SeededRandom(RandomPort):
    """SeededRandom(seed=None): without a seed the operating system gives one.  One thread."""

    def __init__(self, seed=None):
        cdef uint64_t state = (int.from_bytes(os.urandom(8), "little") if seed is None else seed) & 0xFFFFFFFFFFFFFFFF
        cdef uint64_t mixed
        cdef int index
        for index in range(4):
            state += <uint64_t>0x9E3779B97F4A7C15
            mixed = state
            mixed = (mixed ^ (mixed >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
            mixed = (mixed ^ (mixed >> 27)) * <uint64_t>0x94D049BB133111EB
            self._state[index] = mixed ^ (mixed >> 31)

    cdef uint64_t next_u64(self) noexcept nogil:
        cdef uint64_t* s = self._state
        cdef uint64_t result = rotate_left(s[1] * 5, 7) * 9
        cdef uint64_t shifted = s[1] << 17
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotate_left(s[3], 45)
        return result


class SystemSecrets:
    """Numbers of the operating system's generator, which cannot be guessed from others of them. Any thread."""

    def u64(self) -> int:
        """Return a uniform integer of 64 bits."""
        return int.from_bytes(os.urandom(8), "little")
