# A port around another that notes what passes in the event log.

cimport cython
from libc.stdint cimport int32_t, uint8_t
from aerowire.agents.event_log cimport EventLog
from aerowire.base.address cimport Address
from aerowire.base.ports cimport Datagram, DatagramPort
from aerowire.driver.media.capture_port cimport OuterPort


@cython.final
cdef class EventPort(OuterPort):
    """EventPort(inner, log, remote=None)."""

    cdef EventLog _log
    cdef Address _remote

    cdef void _note(self, int32_t frame_code, int32_t nak_code, const Datagram* item) noexcept nogil
    cdef void _note_frame(self, int32_t code, const Address* peer, const uint8_t* frame, int32_t length) noexcept nogil
