"""A capture file of what the sockets of a network send, for readers of captures."""

cimport cython

from aerowire.base.ports cimport ClockPort
from aerowire.driver.media.capture cimport CaptureWriter
from aerowire.driver.media.capture_records cimport CAPTURE_PLAIN
from aerowire.simulation.packet_trace cimport FATE_SENT, PacketEvent, PacketTrace


@cython.final
cdef class PacketCapture(PacketTrace):
    """PacketCapture(path, clock): each datagram once, as it is sent, by the wall clock of `clock`; what is lost later was sent too.

    pcapng, or classic pcap for a name that ends in .pcap. Not recorded: sends that failed, and the copies that links make.
    """

    def __init__(self, path, ClockPort clock not None, *, bint overwrites=False):
        """Make the file; StorageError when it cannot be made, or is there and must not be replaced."""
        self._writer = CaptureWriter(path, clock, overwrites=overwrites)

    cdef void on_packet(self, const PacketEvent* event) noexcept nogil:
        if event.fate == FATE_SENT:
            self._writer.write_packet(True, CAPTURE_PLAIN, event.source, event.target, event.payload, event.length)

    def close(self) -> None:
        """Write out the rest and close the file; StorageSpaceError when not everything could be written."""
        try:
            self._writer.flush()
        finally:
            self._writer.close()
