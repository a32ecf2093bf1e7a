"""An exclusive publication on loan to a native agent, which appends messages, whole blocks and padding.

The log and the limit stay mapped until the loan is gone. What is appended after the stream's end goes nowhere.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.client.handles.state cimport STATE_LENT
from aerowire.client.publications.publication cimport ExclusivePublication
from aerowire.codecs.native.logbuffer cimport LOG_METADATA_IS_CONNECTED_OFFSET
from aerowire.logbuffer.descriptor cimport OFFER_CLOSED
from aerowire.memory.atomics cimport load_acquire_i32


cdef class LentPublication(Loan):
    """An exclusive publication that a native agent writes; LentPublication(publication) lends it. Its own offers raise until it is given back."""

    def __init__(self, ExclusivePublication publication not None):
        cdef ExclusiveAppender appender = publication.exclusive_appender()
        publication.begin_loan(self)
        publication.handle_state = STATE_LENT
        self.session_id = appender.session_id
        self.stream_id = appender.stream_id
        self.max_payload_length = appender.max_payload_length
        self.max_message_length = appender.max_message_length
        self._appender = appender

    cdef int64_t offer(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        return self._appender.offer(message, length, reserved, context) if self.is_out() else OFFER_CLOSED

    cdef int64_t offer_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        return self._appender.offer_parts(parts, count, reserved, context) if self.is_out() else OFFER_CLOSED

    cdef int64_t offer_many(self, const Part* messages, int count, int* sent) noexcept nogil:
        sent[0] = 0
        return self._appender.offer_many(messages, count, sent, NULL, NULL) if self.is_out() else OFFER_CLOSED

    cdef int64_t offer_block(self, const uint8_t* block, int32_t length) noexcept nogil:
        return self._appender.offer_block(block, length) if self.is_out() else OFFER_CLOSED

    cdef int64_t append_padding(self, int64_t length) noexcept nogil:
        return self._appender.append_padding(length) if self.is_out() else OFFER_CLOSED

    cdef int64_t position(self) noexcept nogil:
        return self._appender.position()

    cdef int64_t available_window(self) noexcept nogil:
        return self._appender.available_window() if self.is_out() else 0

    cdef bint is_connected(self) noexcept nogil:
        return self.is_out() and load_acquire_i32(self._appender.metadata + LOG_METADATA_IS_CONNECTED_OFFSET) == 1
