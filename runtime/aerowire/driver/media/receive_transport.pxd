# One socket of a receive endpoint: its only one, or one destination of a multi-destination subscription.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport DatagramPort


@cython.final
cdef class ReceiveTransport:
    cdef DatagramPort port
    cdef void* endpoint                 # borrowed ReceiveEndpoint, which holds this as long as its agent may use it
    cdef readonly int index
    cdef readonly int32_t ttl
    cdef bint is_multicast
    cdef bint has_explicit_control
    cdef bint is_named                  # that control address was given by a name
    cdef Address control                # multicast or explicit; length 0: answers go to the source
    cdef int quiet_batch                # datagrams asked for at once while little comes
    cdef int64_t heard_cycle            # its agent's cycle in which something last came
    cdef int64_t busy_cycles            # in how many in a row up to that one
    cdef int64_t heard_ns               # when something last came, or its control address was looked up
    cdef object __weakref__

    cdef const Address* control_of(self, const Address* source) noexcept nogil


@cython.final
cdef class ControlChange:
    """Another control address for a transport, as the subject of a command."""

    cdef ReceiveTransport transport
    cdef Address address
