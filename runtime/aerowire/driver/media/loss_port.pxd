# A datagram port that loses, repeats and reorders on purpose.

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.ports cimport Datagram
from aerowire.driver.media.capture_port cimport OuterPort
from aerowire.system.random cimport SeededRandom

cdef enum:
    DATAGRAM_MAX = 65536        # bytes of the longest datagram
    INTERCEPTORS_MAX = 10       # as many as the C driver takes


@cython.final
cdef class LossRates:
    """LossRates(loss, duplicate, reorder, seed): probabilities of one direction."""

    cdef readonly double loss
    cdef readonly double duplicate
    cdef readonly double reorder
    cdef readonly object seed


@cython.final
cdef class LossLane:
    """One direction's dice and its one datagram held back."""

    cdef double _loss
    cdef double _duplicate
    cdef double _reorder
    cdef SeededRandom _random
    cdef uint8_t* held_bytes
    cdef Datagram held
    cdef int held_for                   # datagrams that still pass it; 0: nothing held
    cdef int idle_polls
    cdef readonly int64_t lost
    cdef readonly int64_t duplicated
    cdef readonly int64_t reordered

    cdef bint drops(self) noexcept nogil
    cdef bint duplicates(self) noexcept nogil
    cdef bint holds(self, const Datagram* item) noexcept nogil
    cdef bint releases(self) noexcept nogil


@cython.final
cdef class LossPort(OuterPort):
    cdef LossLane _incoming
    cdef LossLane _outgoing
    cdef tuple _interceptors
    cdef PyObject* _asked[INTERCEPTORS_MAX]     # borrowed from the tuple
    cdef int _interceptor_count

    cdef bint _intercepts(self, const Datagram* item) noexcept nogil
    cdef int _transmit(self, Datagram* item, int mark) noexcept nogil
    cdef int _fill(self, Datagram* items, int index, const Datagram* source) noexcept nogil
