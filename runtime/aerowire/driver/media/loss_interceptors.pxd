# What loses datagrams that come in by what they say, before an endpoint sees them.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from aerowire.base.ports cimport Datagram
from aerowire.protocol.pointer_map cimport PointerMap


cdef class LossInterceptor:
    """Of one agent, for all its sockets; its thread alone asks it."""

    cdef bint drops(self, const Datagram* item) noexcept nogil


@cython.final
cdef class RandomLoss(LossInterceptor):
    cdef double _rate
    cdef uint32_t _types                # a bit for each type of frame that may be lost
    cdef uint64_t _state                # 48 bits

    cdef double next_double(self) noexcept nogil


cdef class GapLoss(LossInterceptor):
    """Remembers for each stream how far it was lost, so that nothing is lost twice."""

    cdef int32_t _term_id
    cdef int64_t _last_offset           # of a datagram that may be lost
    cdef PointerMap _lost_to            # stream and session -> offset + 1

    cdef bint falls(self, int32_t offset, int64_t limit, int64_t lost_to) noexcept nogil


@cython.final
cdef class FixedLoss(GapLoss):
    cdef int64_t _limit


@cython.final
cdef class MultiGapLoss(GapLoss):
    cdef int64_t _radix
    cdef int64_t _gap_length
