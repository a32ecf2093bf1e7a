"""How large a window a receiver grants. Strategies that react to loss and round trips subclass CongestionControl."""

from libc.stdint cimport int32_t, int64_t


cdef class CongestionControl:
    """The questions that an image asks; the base never measures round trips and grants nothing."""

    cdef int32_t on_track_rebuild(self, int64_t now_ns, int64_t consumption_position, int64_t last_sm_position, int64_t hwm_position,
                                  int64_t rebuild_start, int64_t rebuild_end, bint loss_occurred,
                                  bint* force_status_message) noexcept nogil:
        force_status_message[0] = False
        return self.initial_window_length()

    cdef int32_t initial_window_length(self) noexcept nogil:
        return 0

    cdef int32_t max_window_length(self) noexcept nogil:
        return self.initial_window_length()

    cdef bint should_measure_rtt(self, int64_t now_ns) noexcept nogil:
        return False

    cdef void on_rtt_measurement_sent(self, int64_t now_ns) noexcept nogil:
        pass

    cdef void on_rtt_measurement(self, int64_t now_ns, int64_t rtt_ns) noexcept nogil:
        pass

    def track(self, int64_t now_ns, *, bint loss=False, int64_t consumption_position=0, int64_t last_sm_position=0) -> tuple:
        """Return (window to grant, whether to tell it at once) at `now_ns`: on_track_rebuild without threads."""
        cdef bint force = False
        cdef int32_t window = self.on_track_rebuild(now_ns, consumption_position, last_sm_position, 0, 0, 0, loss, &force)
        return window, force

    def poll_rtt_request(self, int64_t now_ns) -> bool:
        """Return whether a round trip is to be measured now, and take it as begun."""
        cdef bint asked = self.should_measure_rtt(now_ns)
        if asked:
            self.on_rtt_measurement_sent(now_ns)
        return asked

    def on_rtt(self, int64_t now_ns, int64_t rtt_ns) -> None:
        """Take a measured round trip."""
        self.on_rtt_measurement(now_ns, rtt_ns)


cdef class StaticWindowCongestionControl(CongestionControl):
    """The same window whatever happens. Aeron: StaticWindowCongestionControl."""

    def __cinit__(self, int32_t window_length):
        if window_length < 1:
            raise ValueError(f"window length: expected at least 1 byte, actual {window_length}")
        self._window_length = window_length

    cdef int32_t on_track_rebuild(self, int64_t now_ns, int64_t consumption_position, int64_t last_sm_position, int64_t hwm_position,
                                  int64_t rebuild_start, int64_t rebuild_end, bint loss_occurred,
                                  bint* force_status_message) noexcept nogil:
        force_status_message[0] = False
        return self._window_length

    cdef int32_t initial_window_length(self) noexcept nogil:
        return self._window_length

    @property
    def window_length(self):
        """The window in bytes."""
        return self._window_length
