# The loss report: where, how often and how much was lost, in loss-report.dat.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t


@cython.final
cdef class LossReport:
    """LossReport(buffer): one writing thread."""

    cdef uint8_t* address
    cdef int64_t capacity
    cdef int64_t _next_offset
    cdef object _holder

    # The entry to update from now on, or NULL when the report is full. Strings are ASCII, not terminated.
    cdef uint8_t* create_entry(self, int64_t bytes_lost, int64_t epoch_ms, int32_t session_id, int32_t stream_id,
                               const char* channel, int32_t channel_length, const char* source, int32_t source_length) noexcept nogil

# Add an observation to an entry made above.
cdef void loss_entry_observe(uint8_t* entry, int64_t bytes_lost, int64_t epoch_ms) noexcept nogil
