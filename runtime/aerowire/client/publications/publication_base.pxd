# What both kinds of publications share.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.client.handles.numbers cimport Numbers
from aerowire.client.handles.stream_handle cimport StreamHandle
from aerowire.logbuffer.append cimport Part, ReservedValue
from aerowire.logbuffer.log cimport LogBuffers


cdef class PublicationBase(StreamHandle):
    cdef LogBuffers logs
    cdef object _hold                   # the log's mapping and the counters' buffers
    cdef const int64_t* limit
    cdef Numbers _numbers               # positions that offer() returned
    cdef bint _refuses_waiting          # send() raises: nothing may wait in this thread
    cdef readonly int32_t session_id
    cdef readonly int64_t original_registration_id
    cdef readonly int32_t position_limit_id
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
    cdef int64_t offer_gathered(self, const Part* parts, int count, object reserved_value) except? -99
    cdef int64_t checked(self, int64_t result, Py_ssize_t length) except? -99
    cdef object refuse_length(self, Py_ssize_t length, Py_ssize_t limit)
    cdef object offer_sequence(self, object buffers)
    cdef object offer_rows(self, object rows)
