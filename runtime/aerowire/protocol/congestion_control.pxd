# How large a window a receiver grants.

from libc.stdint cimport int32_t, int64_t

# Consumption that is worth a status message before its timer: a quarter of the window. Aeron: CongestionControl.threshold.
cdef inline int32_t window_threshold(int32_t window_length) noexcept nogil:
    return window_length >> 2


cdef enum:
    RTT_UNKNOWN_NS = -1     # for on_rtt_measurement: an answer came whose times are impossible


cdef class CongestionControl:
    """A strategy; on_track_rebuild on the conductor agent's thread, the RTT methods on the receiver's."""

    # Returns the window to grant; sets *force_status_message when it must be told at once.
    cdef int32_t on_track_rebuild(self, int64_t now_ns, int64_t consumption_position, int64_t last_sm_position, int64_t hwm_position,
                                  int64_t rebuild_start, int64_t rebuild_end, bint loss_occurred,
                                  bint* force_status_message) noexcept nogil
    cdef int32_t initial_window_length(self) noexcept nogil
    cdef int32_t max_window_length(self) noexcept nogil
    cdef bint should_measure_rtt(self, int64_t now_ns) noexcept nogil
    cdef void on_rtt_measurement_sent(self, int64_t now_ns) noexcept nogil
    cdef void on_rtt_measurement(self, int64_t now_ns, int64_t rtt_ns) noexcept nogil


cdef class StaticWindowCongestionControl(CongestionControl):
    """StaticWindowCongestionControl(window_length): bytes, already clipped to half a term."""

    cdef int32_t _window_length
