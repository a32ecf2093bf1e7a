# Two sockets as one port: datagrams go out by one and come in by the other.

cimport cython
from aerowire.base.ports cimport DatagramPort


@cython.final
cdef class SplitPort(DatagramPort):
    """SplitPort(sending, receiving): owns both."""

    cdef DatagramPort _sending
    cdef DatagramPort _receiving
