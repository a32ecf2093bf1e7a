"""Ports around a socket's own: one that captures what passes, and the ground for others that change it."""

cimport cython

from aerowire.base.address cimport Address, address_from
from aerowire.driver.media.capture_records cimport CAPTURE_PLAIN


@cython.final
cdef class CaptureTap:
    """Knows the two ends of a socket; a datagram without an address of its own goes to or comes from `remote`."""

    def __cinit__(self, CaptureWriter writer not None, *, local, remote=None):
        self._writer = writer
        address_from(&self._local, local)
        address_from(&self._remote, remote)

    cdef void record(self, bint outgoing, int mark, const Datagram* item) noexcept nogil:
        cdef const Address* peer = &item.address if item.address.length else &self._remote
        if outgoing:
            self._writer.write_packet(True, mark, &self._local, peer, item.buffer, item.length)
        else:
            self._writer.write_packet(False, mark, peer, &self._local, item.buffer, item.length)

    cdef void set_remote(self, const Address* remote) noexcept nogil:
        self._remote = remote[0]


cdef class OuterPort(DatagramPort):
    """Has the descriptor, the addresses and the end of the port inside it."""

    cdef int file_descriptor(self) noexcept nogil:
        return self.inner.file_descriptor()

    cdef int copy_local_address(self, Address* out) noexcept nogil:
        return self.inner.copy_local_address(out)

    cdef int rebind(self, const Address* remote) noexcept nogil:
        if self.tap is not None:
            self.tap.set_remote(remote)
        return self.inner.rebind(remote)

    def close(self) -> None:
        """Close the socket."""
        self.inner.close()


@cython.final
cdef class CapturePort(OuterPort):
    """Records what the socket takes and gives."""

    def __cinit__(self, DatagramPort inner not None, CaptureTap tap not None):
        self.inner = inner
        self.tap = tap

    cdef int send(self, Datagram* items, int count) noexcept nogil:
        cdef int sent = self.inner.send(items, count)
        cdef int i
        for i in range(sent):
            if items[i].result >= items[i].length:
                self.tap.record(True, CAPTURE_PLAIN, &items[i])
        return sent

    cdef int receive(self, Datagram* items, int count) noexcept nogil:
        cdef int received = self.inner.receive(items, count)
        cdef int i
        for i in range(received):
            self.tap.record(False, CAPTURE_PLAIN, &items[i])
        return received
