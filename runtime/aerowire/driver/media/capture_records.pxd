# The forms of a capture file, appended to a buffer: pcapng and classic pcap with nanoseconds.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address

cdef enum:
    RECORD_LENGTH_MAX = 66000   # of one datagram with all its headers and options
    PAYLOAD_LENGTH_MAX = RECORD_LENGTH_MAX - 256

cdef enum:
    CAPTURE_PLAIN = 0
    CAPTURE_LOST = 1            # induced loss: it never reached the socket, or never the driver
    CAPTURE_DUPLICATE = 2       # induced repetition

cdef struct RecordBuffer:
    uint8_t* bytes_
    int64_t used

# The beginning of a file.
cdef int begin_pcapng(RecordBuffer* out) except -1
cdef int begin_classic(RecordBuffer* out) except -1
# One datagram of at most PAYLOAD_LENGTH_MAX octets; the buffer has room for RECORD_LENGTH_MAX more.
cdef void append_pcapng(RecordBuffer* out, int64_t epoch_ns, bint outgoing, int mark, const Address* source, const Address* target,
                        const uint8_t* payload, int32_t length) noexcept nogil
cdef void append_classic(RecordBuffer* out, int64_t epoch_ns, bint outgoing, int mark, const Address* source, const Address* target,
                         const uint8_t* payload, int32_t length) noexcept nogil
