# xoshiro256** seeded by splitmix64: the RandomPort of production and of every seeded test.

cimport cython
from libc.stdint cimport uint64_t
from aerowire.base.ports cimport RandomPort


@cython.final
cdef class SeededRandom(RandomPort):
    cdef uint64_t _state[4]
