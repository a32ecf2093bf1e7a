# Which packets an image takes, measured against what it last told its sender.

cimport cython
from libc.stdint cimport int32_t, int64_t

cdef enum:
    WINDOW_ACCEPT = 0
    WINDOW_UNDER_RUN = 1        # counted and dropped
    WINDOW_RECENT = 2           # under-run too, but so near that the sender is clearly alive
    WINDOW_OVER_RUN = 3         # counted and dropped


@cython.final
cdef class ReceiveWindow:
    """The last status position and the limits around it, on the receiver's thread."""

    cdef int64_t _term_length
    cdef int64_t _max_window_length
    cdef readonly int64_t last_status_position
    cdef readonly int64_t over_run_threshold

    cpdef int classify_data(self, int64_t position, int64_t length) noexcept nogil
    cpdef int classify_heartbeat(self, int64_t position) noexcept nogil
    cpdef void on_status_message_sent(self, int64_t position) noexcept nogil
