"""One socket of a receive endpoint, and where answers to what it brings are sent. Aeron: ReceiveDestinationTransport."""

from libc.stdint cimport int32_t

cimport cython

from aerowire.base.address cimport address_from
from aerowire.driver.media.image_connections cimport IMAGE_CONNECTIONS_MAX

TRANSPORTS_MAX = IMAGE_CONNECTIONS_MAX


@cython.final
cdef class ReceiveTransport:
    """Made by the conductor, used by the receiver while its endpoint has it. Invariant: `index` is its place there."""

    def __cinit__(self, DatagramPort port not None, *, int index=0, multicast_control=None, explicit_control=None,
                  bint named_control=False, int32_t ttl=0):
        if not 0 <= index < IMAGE_CONNECTIONS_MAX:
            raise ValueError(f"transport index: expected 0 to {IMAGE_CONNECTIONS_MAX - 1}, actual {index}")
        self.port = port
        self.index = index
        self.ttl = ttl
        self.quiet_batch = getattr(port, "batch_min", 1)
        self.is_multicast = multicast_control is not None
        self.has_explicit_control = multicast_control is None and explicit_control is not None
        self.is_named = named_control and self.has_explicit_control
        address_from(&self.control, multicast_control if self.is_multicast else explicit_control)

    cdef const Address* control_of(self, const Address* source) noexcept nogil:
        if self.control.length:
            return &self.control
        return source

    def close(self) -> None:
        """Close the socket. Only when no agent uses it."""
        self.port.close()

    @property
    def local_address(self):
        """(host, port) that the socket is bound to."""
        return self.port.local_address


@cython.final
cdef class ControlChange:
    """A control address whose name has moved to (host, port)."""

    def __cinit__(self, ReceiveTransport transport not None, address not None):
        self.transport = transport
        address_from(&self.address, address)
