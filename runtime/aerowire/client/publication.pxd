# The sending handles.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.client.claim cimport BufferClaim
from aerowire.client.numbers cimport Numbers
from aerowire.client.state cimport Handle
from aerowire.ipc.counters cimport CountersReader
from aerowire.logbuffer.append cimport Part, ReservedValue
from aerowire.logbuffer.concurrent_appender cimport ConcurrentAppender
from aerowire.logbuffer.exclusive_appender cimport ExclusiveAppender
from aerowire.logbuffer.log cimport LogBuffers


cdef class PublicationBase(Handle):
    cdef LogBuffers _logs
    cdef object _hold                   # the log's mapping and the counters' buffers
    cdef object _conductor
    cdef const int64_t* _position_limit
    cdef Numbers _numbers               # positions that offer() returned
    cdef readonly str channel
    cdef readonly int32_t stream_id
    cdef readonly int32_t session_id
    cdef readonly int64_t registration_id
    cdef readonly int64_t original_registration_id
    cdef readonly int32_t position_limit_id
    cdef readonly int32_t channel_status_id
    cdef readonly int32_t initial_term_id
    cdef readonly int32_t term_buffer_length
    cdef readonly int32_t max_payload_length
    cdef readonly int32_t max_message_length
    cdef readonly int position_bits_to_shift
    cdef readonly int64_t max_possible_position

    cdef int64_t append(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil
    cdef int64_t append_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil
    cdef int64_t append_many(self, const Part* messages, int count, int* sent) noexcept nogil
    cdef int64_t append_rows(self, const uint8_t* rows, int64_t length, int64_t count, int64_t* sent) noexcept nogil
    cdef int64_t claim_space(self, int64_t length, uint8_t** frame) noexcept nogil
    cdef int64_t appender_position(self) noexcept nogil
    cdef object offer_buffer(self, object buffer, Py_ssize_t offset, object length, object reserved_value)
    cdef int64_t offer_address(self, const uint8_t* message, Py_ssize_t length, object reserved_value) except? -99
    cdef object refuse_length(self, Py_ssize_t length, Py_ssize_t limit)
    cdef object offer_sequence(self, object buffers)
    cdef object offer_rows(self, object rows)


cdef class Publication(PublicationBase):
    cdef ConcurrentAppender _appender


cdef class ExclusivePublication(PublicationBase):
    cdef ExclusiveAppender _appender
    cdef readonly bint revoke_on_close
