# What the agents note of one stream in the event log.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.agents.event_log cimport EventLog
from aerowire.protocol.min_flow_control cimport GroupWatcher


@cython.final
cdef class StreamEvents(GroupWatcher):
    """StreamEvents(log, session_id, stream_id, channel). Any agent: nothing changes after construction."""

    cdef EventLog _log
    cdef int32_t _session_id
    cdef int32_t _stream_id
    cdef bytes _channel
    cdef const uint8_t* _characters     # of the channel
    cdef int32_t _channel_length

    cdef void resend(self, int32_t term_id, int32_t term_offset, int32_t length) noexcept nogil
    cdef void revoked(self, int32_t code, int64_t position) noexcept nogil
    # private
    cdef void _note_receiver(self, int32_t code, int64_t receiver_id, int count) noexcept nogil
