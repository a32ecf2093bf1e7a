# A socket that publications of one channel send on, and from which their receivers' answers come.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.ports cimport Datagram, DatagramPort
from aerowire.driver.events cimport EventQueue
from aerowire.driver.system_counters cimport SystemCounters
from aerowire.protocol.pointer_map cimport PointerMap


@cython.final
cdef class SendEndpoint:
    """Its publications by session and stream, on the sender's thread."""

    cdef DatagramPort _port
    cdef SystemCounters _system
    cdef PointerMap publications            # (stream, session) -> NetworkPublication*, borrowed
    cdef readonly bint group                # multicast or several destinations: receivers back off, many may answer
    cdef readonly int32_t ttl
    cdef readonly str channel
    cdef EventQueue events                  # of the sender that it was added to
    cdef int64_t _last_error_ns
    cdef int _last_error
    cdef object __weakref__

    # Datagrams sent whole, in order; fewer than count is a short send, counted. *bytes_sent is increased.
    cdef int send(self, Datagram* items, int count, int64_t* bytes_sent, int64_t now_ns) noexcept nogil
    cdef bint send_frame(self, uint8_t* frame, int32_t length, int64_t now_ns) noexcept nogil
    cdef void report(self, int code, int error, int64_t now_ns) noexcept nogil
