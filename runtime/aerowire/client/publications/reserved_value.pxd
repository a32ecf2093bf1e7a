# Where the reserved value of a message's frames comes from.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.logbuffer.log cimport LogBuffers

# For the appender, with a pointer to the value as its context.
cdef int64_t fixed_value(void* context, uint8_t* term, int32_t term_offset, int32_t frame_length) noexcept nogil
# For the appender, with a ReservedSupplier as its context.
cdef int64_t supplied_value(void* context, uint8_t* term, int32_t term_offset, int32_t frame_length) noexcept nogil


cdef class ReservedSupplier:
    """An application's function that is asked for each frame of one message."""

    cdef object function
    cdef object failure                 # what it raised
    cdef LogBuffers logs

    cdef int64_t ask(self, int64_t log_offset, int32_t frame_length) except? -99
    cdef int raise_failure(self) except -1

cdef ReservedSupplier new_supplier(object function, LogBuffers logs)
