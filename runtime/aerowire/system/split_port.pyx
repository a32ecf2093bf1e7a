"""Two sockets as one port: datagrams go out by one and come in by the other, as at the sending end of a multicast group."""

cimport cython

from aerowire.base.address cimport Address
from aerowire.base.ports cimport Datagram, DatagramPort


@cython.final
cdef class SplitPort(DatagramPort):
    """Its descriptor and its local address are those of the receiving port; its peer is the sending one's."""

    def __cinit__(self, DatagramPort sending not None, DatagramPort receiving not None):
        self._sending = sending
        self._receiving = receiving

    cdef int send(self, Datagram* items, int count) noexcept nogil:
        return self._sending.send(items, count)

    cdef int receive(self, Datagram* items, int count) noexcept nogil:
        return self._receiving.receive(items, count)

    cdef int file_descriptor(self) noexcept nogil:
        return self._receiving.file_descriptor()

    cdef int copy_local_address(self, Address* out) noexcept nogil:
        return self._receiving.copy_local_address(out)

    cdef int rebind(self, const Address* remote) noexcept nogil:
        return self._sending.rebind(remote)

    @property
    def sending(self):
        """The DatagramPort that datagrams leave by."""
        return self._sending

    @property
    def receiving(self):
        """The DatagramPort that datagrams arrive at."""
        return self._receiving

    def close(self) -> None:
        """Close both sockets. Idempotent."""
        self._sending.close()
        self._receiving.close()
