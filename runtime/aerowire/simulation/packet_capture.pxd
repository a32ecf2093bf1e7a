# A capture file of what the sockets of a network send.

cimport cython

from aerowire.driver.media.capture cimport CaptureWriter
from aerowire.simulation.packet_trace cimport PacketTrace


@cython.final
cdef class PacketCapture(PacketTrace):
    cdef CaptureWriter _writer
