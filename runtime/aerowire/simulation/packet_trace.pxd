# What happens to packets, for those that follow it: a digest of a world, a record of its last packets, a capture.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from aerowire.base.address cimport Address

# PacketFate has it as SENT.
cpdef enum FateCode:
    FATE_SENT = 1                       # by a socket; a group hears it once for all members
    FATE_REFUSED = 2                    # the send ended in an error
    FATE_REPEATED = 3                   # a copy of the packet of the same socket is on the link
    FATE_LOST = 4
    FATE_DELIVERED = 5                  # it lies in the socket's queue

cdef struct PacketEvent:
    int fate
    int cause                           # of FATE_LOST a LossCode, of FATE_REFUSED an errno, else 0
    int64_t time_ns                     # true time of the world
    uint64_t number                     # of the packet on its link; 0 for FATE_SENT and FATE_REFUSED
    const Address* source
    const Address* target
    const uint8_t* payload
    int32_t length


cdef class PacketTrace:
    """Subclass and override. Called in the order of events; the payload is lent for the call."""

    cdef object __weakref__

    cdef void on_packet(self, const PacketEvent* event) noexcept nogil


@cython.final
cdef class PacketDigest(PacketTrace):
    cdef uint64_t value


cdef struct PacketEntry:
    PacketEvent event
    Address source
    Address target
    uint8_t* payload


@cython.final
cdef class PacketLog(PacketTrace):
    cdef PacketEntry* _entries
    cdef int _capacity
    cdef int32_t _snap_length
    cdef readonly int64_t count         # events so far; those that no longer fit were dropped, the oldest first
