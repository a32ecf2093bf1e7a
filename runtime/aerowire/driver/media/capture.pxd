# The driver's own packet capture: every datagram, into a file, without privileges.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort
from aerowire.driver.media.capture_records cimport RecordBuffer


@cython.final
cdef class CaptureWriter:
    """CaptureWriter(path, clock): pcapng, or classic nanosecond pcap for a name that ends in .pcap. Any thread."""

    cdef ClockPort _clock
    cdef int _fd
    cdef int32_t _error
    cdef bint _classic
    cdef int32_t _lock                  # over the buffer that is filled
    cdef int32_t _file_lock             # over the buffer that is written out, and the file; taken first
    cdef RecordBuffer _filling
    cdef RecordBuffer _writing
    cdef int64_t _packets
    cdef object _path

    cdef void write_packet(self, bint outgoing, int mark, const Address* source, const Address* target, const uint8_t* payload,
                           int32_t length) noexcept nogil
    cdef void _write_out(self) noexcept nogil
    cdef void _write_file(self) noexcept nogil
