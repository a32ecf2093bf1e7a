# How the scheduler treats a thread: how long it stands still, and how late it is woken.

cimport cython
from libc.stdint cimport int64_t

cdef enum:
    HICCUP_BUCKETS = 64         # of powers of two, in nanoseconds: bucket n counts what is from 2**(n - 1) to below 2**n


@cython.final
cdef class HiccupSampler:
    cdef int64_t _buckets[HICCUP_BUCKETS]
    cdef readonly int64_t count
    cdef readonly int64_t longest_ns
    cdef readonly int64_t total_ns
    cdef readonly int64_t elapsed_ns

    cdef void _note(self, int64_t value_ns) noexcept nogil
    cdef void _spin(self, int64_t duration_ns, int64_t threshold_ns) noexcept nogil
    cdef void _sleep(self, int64_t duration_ns, int64_t period_ns) noexcept nogil
