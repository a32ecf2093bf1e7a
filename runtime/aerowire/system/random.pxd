# xoshiro256** seeded by splitmix64: the RandomPort of production and of every seeded test.

from libc.stdint cimport uint64_t
from aerowire.base.ports cimport RandomPort


cdef class SeededRandom(RandomPort):
    cdef uint64_t _state[4]
