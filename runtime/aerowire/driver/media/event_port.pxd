# A port around another that notes what passes in the event log.

cimport cython
from libc.stdint cimport int32_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport Datagram, DatagramPort
from aerowire.driver.media.capture_port cimport OuterPort
from aerowire.driver.event_log.event_log cimport EventLog


@cython.final
cdef class EventPort(OuterPort):
    """EventPort(inner, log, remote=None)."""

    cdef EventLog _log
    cdef Address _remote

    cdef void note(self, int32_t frame_code, int32_t nak_code, const Datagram* item) noexcept nogil
