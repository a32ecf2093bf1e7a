# What an image lost, told to the loss report.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.ipc.loss_report cimport LossReport


@cython.final
cdef class LossReporter:
    """LossReporter(report, session_id, stream_id, channel, source): on the conductor agent's thread."""

    cdef LossReport _report
    cdef uint8_t* _entry                # of the report; NULL until the first loss
    cdef int32_t _session_id
    cdef int32_t _stream_id
    cdef bytes _channel
    cdef bytes _source
    cdef const char* _channel_text
    cdef const char* _source_text
    cdef int32_t _channel_length
    cdef int32_t _source_length
    cdef int32_t _reported_term_id
    cdef int32_t _reported_end

    cdef void on_gap(self, int32_t term_id, int32_t term_offset, int32_t length, int64_t epoch_ms) noexcept nogil
    cdef void _observe(self, int64_t bytes_lost, int64_t epoch_ms) noexcept nogil
