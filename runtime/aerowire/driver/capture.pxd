# The driver's own packet capture: every datagram with made-up IP headers, into a file, without privileges.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort, Datagram, DatagramPort

cdef enum:
    CAPTURE_PLAIN = 0
    CAPTURE_LOST = 1            # induced loss: it never reached the socket, or never the driver
    CAPTURE_DUPLICATE = 2       # induced repetition


@cython.final
cdef class CaptureWriter:
    """CaptureWriter(path, clock): pcapng, or classic nanosecond pcap for a name that ends in .pcap. Any thread."""

    cdef ClockPort _clock
    cdef int _fd
    cdef int _error
    cdef bint _classic
    cdef int32_t _lock
    cdef uint8_t* _buffer
    cdef int64_t _used
    cdef int64_t _packets
    cdef object _path

    cdef void write_packet(self, bint outgoing, int mark, const Address* source, const Address* target, const uint8_t* payload,
                           int32_t length) noexcept nogil
    cdef void _append_ng(self, bint outgoing, int mark, const Address* source, const Address* target, const uint8_t* payload,
                         int32_t length) noexcept nogil
    cdef void _append_classic(self, bint outgoing, int mark, const Address* source, const Address* target, const uint8_t* payload,
                              int32_t length) noexcept nogil
    cdef void _put(self, const void* bytes_, int64_t length) noexcept nogil
    cdef void _put_u16(self, int value) noexcept nogil
    cdef void _put_u32(self, int64_t value) noexcept nogil
    cdef void _put_option(self, int code, const void* value, int length) noexcept nogil
    cdef void _put_ip(self, const Address* source, const Address* target, const uint8_t* payload, int32_t length) noexcept nogil
    cdef int _flush(self) noexcept nogil
    cdef void _acquire(self) noexcept nogil
    cdef void _release(self) noexcept nogil


@cython.final
cdef class CaptureTap:
    """CaptureTap(writer, local, remote=None): one socket's addresses."""

    cdef CaptureWriter _writer
    cdef Address _local
    cdef Address _remote

    cdef void record(self, bint outgoing, int mark, const uint8_t* payload, int32_t length, const Address* peer) noexcept nogil
    cdef void set_remote(self, const Address* remote) noexcept nogil


@cython.final
cdef class CapturePort(DatagramPort):
    """CapturePort(inner, tap)."""

    cdef DatagramPort _inner
    cdef CaptureTap _tap
