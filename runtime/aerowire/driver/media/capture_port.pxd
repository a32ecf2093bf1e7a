# Ports around a socket's own: one that captures what passes, and the ground for others that change it.

cimport cython
from libc.stdint cimport int32_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport Datagram, DatagramPort
from aerowire.driver.media.capture cimport CaptureWriter


@cython.final
cdef class CaptureTap:
    """CaptureTap(writer, local, remote=None): one socket's addresses."""

    cdef CaptureWriter _writer
    cdef Address _local
    cdef Address _remote

    cdef void record(self, bint outgoing, int mark, const Datagram* item) noexcept nogil
    cdef void set_remote(self, const Address* remote) noexcept nogil


cdef class OuterPort(DatagramPort):
    """What a port has of the one inside it. Subclasses override send and receive."""

    cdef DatagramPort inner
    cdef CaptureTap tap                 # None: no capture


@cython.final
cdef class CapturePort(OuterPort):
    """CapturePort(inner, tap)."""
