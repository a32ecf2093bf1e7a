# The frame that a handler is looking at.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH


cdef class Header:
    cdef const uint8_t* frame           # of the frame's header; never NULL in a handler's hands
    cdef const uint8_t* payload_address
    cdef int32_t length
    cdef readonly int32_t initial_term_id
    cdef int bits
    cdef int64_t fragmented_length      # log bytes of a reassembled message; 0: this is one frame
    cdef int32_t builder_key            # the image's session, whatever the frame says: by which assemblers know its messages
    cdef object hold                    # keeps `frame` and `payload_address` mapped
    cdef object source                  # the image
    cdef uint8_t frame_copy[DATA_HEADER_LENGTH]

    cdef int require_frame(self) except -1
