# A receive window that grows by a cubic function of the time since the last loss.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.protocol.congestion_control cimport CongestionControl


@cython.final
cdef class CubicCongestionControl(CongestionControl):
    """The window belongs to the conductor agent's thread, what round trips take to the receiver's."""

    # fixed
    cdef int32_t _mtu
    cdef int32_t _max_window_length
    cdef int32_t _initial_window_length
    cdef int32_t _max_cwnd              # windows in datagrams
    cdef bint _measure_rtt
    cdef bint _tcp_mode
    cdef int64_t _initial_rtt_ns
    cdef object _counters               # keeps the indicators mapped
    cdef int64_t* _rtt_indicator        # NULL: nobody is told
    cdef int64_t* _window_indicator
    # conductor agent
    cdef int32_t _cwnd
    cdef int32_t _window_length
    cdef int32_t _w_max
    cdef double _k
    cdef int64_t _last_loss_ns
    cdef int64_t _last_update_ns
    # receiver; the conductor agent reads the round trip
    cdef int64_t _rtt_ns
    cdef int64_t _last_rtt_ns
    cdef int64_t _rtt_timeout_ns

    cdef void _on_loss(self, int64_t now_ns) noexcept nogil
    cdef void _grow(self, int64_t now_ns) noexcept nogil
    cdef void _set_window(self, int32_t window_length) noexcept nogil
