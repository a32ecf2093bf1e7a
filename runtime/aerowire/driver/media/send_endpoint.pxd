# A socket that publications of one channel send on, and from which their receivers' answers come.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort, Datagram
from aerowire.driver.media.channel_endpoint cimport ChannelEndpoint
from aerowire.protocol.destinations cimport Destinations
from aerowire.protocol.pointer_map cimport PointerMap

cdef enum:
    DESTINATION_ADD = 1
    DESTINATION_REMOVE = 2
    DESTINATION_UPDATE = 3      # its name has another address now


@cython.final
cdef class SendEndpoint(ChannelEndpoint):
    """Its publications by session and stream, on the sender's thread."""

    cdef PointerMap publications            # (stream, session) -> NetworkPublication*, borrowed
    cdef readonly bint group                # multicast or several destinations: receivers back off, many may answer
    cdef Destinations destinations          # None: datagrams go to the one peer
    cdef bint has_destinations
    cdef readonly bint is_named             # its peer, or each destination, may have been given by a name
    cdef int64_t looked_up_ns               # when the peer's name was
    cdef int64_t* _destination_count
    cdef int64_t* _status                   # NULL: it is not shown
    cdef ClockPort _stamp_clock             # None: nothing is stamped
    cdef int32_t _stamp_offset              # from the payload's start
    cdef Address _peer                      # length 0: the port is connected to the one peer, or there are destinations
    cdef bint _is_plain                     # one peer that the port is connected to, no time stamps

    # Datagrams sent whole, in order; fewer than count is a short send, counted. *bytes_sent is increased.
    cdef int send(self, Datagram* items, int count, int64_t* bytes_sent, int64_t now_ns) noexcept nogil
    # The same to one address, for publications that answer whoever asked.
    cdef int send_to(self, Datagram* items, int count, const Address* to, int64_t* bytes_sent, int64_t now_ns) noexcept nogil
    cdef bint send_frame(self, uint8_t* frame, int32_t length, int64_t now_ns) noexcept nogil
    cdef void on_status_message(self, int64_t receiver_id, const Address* source, int64_t now_ns) noexcept nogil
    cdef int64_t registration_of(self, int64_t receiver_id, const Address* source) noexcept nogil      # -1: none
    cdef void change_destination(self, int kind, int64_t registration_id, const Address* address, int64_t now_ns) noexcept nogil
    cdef int _transmit(self, Datagram* items, int count, int64_t now_ns) noexcept nogil
    cdef int _send_specially(self, Datagram* items, int count, int64_t now_ns) noexcept nogil
    cdef int _send_copies(self, Datagram* items, int count, const Address* to, int64_t now_ns) noexcept nogil
    cdef void _stamp(self, Datagram* items, int count) noexcept nogil
    cdef void _change_peer(self, const Address* address, int64_t now_ns) noexcept nogil


@cython.final
cdef class DestinationChange:
    """What the conductor asks about one destination, as the subject of a command."""

    cdef SendEndpoint endpoint
    cdef int64_t registration_id            # -1: the endpoint's own peer
    cdef Address address
