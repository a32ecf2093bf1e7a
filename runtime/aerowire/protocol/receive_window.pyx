"""Which packets an image takes, measured against what it last told its sender."""

from libc.stdint cimport int32_t, int64_t

cimport cython

from aerowire.base.wrapping cimport wrapping_add_long

ACCEPT = WINDOW_ACCEPT
UNDER_RUN = WINDOW_UNDER_RUN
RECENT = WINDOW_RECENT
OVER_RUN = WINDOW_OVER_RUN


@cython.final
cdef class ReceiveWindow:
    """Positions in bytes. Aeron: PublicationImage.isFlowControlUnderRun, isFlowControlOverRun.

    Moved by each status message sent. Invariant: over_run_threshold = last_status_position + term_length / 2, so that nothing is
    ever written into memory that a subscriber may still read.
    """

    def __cinit__(self, *, int64_t position, int32_t term_length, int32_t max_window_length):
        self._term_length = term_length
        self._max_window_length = max_window_length
        self.on_status_message_sent(position)

    cpdef int classify_data(self, int64_t position, int64_t length) noexcept nogil:
        """Judge a packet that covers [position, position + length)."""
        if position + length > self.over_run_threshold:
            return WINDOW_OVER_RUN
        if position >= self.last_status_position:
            return WINDOW_ACCEPT
        if position >= self.last_status_position - self._max_window_length:
            return WINDOW_RECENT
        return WINDOW_UNDER_RUN

    cpdef int classify_heartbeat(self, int64_t position) noexcept nogil:
        """Judge a heartbeat: it may lag a whole term behind."""
        cdef int64_t bottom = self.last_status_position - self._term_length
        if position > self.over_run_threshold:
            return WINDOW_OVER_RUN
        return WINDOW_ACCEPT if position >= (bottom if bottom > 0 else 0) else WINDOW_UNDER_RUN

    cpdef void on_status_message_sent(self, int64_t position) noexcept nogil:
        """The sender was told `position`."""
        self.last_status_position = position
        self.over_run_threshold = wrapping_add_long(position, self._term_length >> 1)
