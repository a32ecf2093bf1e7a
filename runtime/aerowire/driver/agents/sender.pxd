# The agent that sends: publications' data, set-ups and heartbeats, and what their receivers ask for.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.agents.command_queue cimport Command
from aerowire.agents.pointer_array cimport PointerArray
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort, DatagramBatch
from aerowire.driver.agents.agent_base cimport DriverAgent
from aerowire.driver.queues.events cimport EventQueue
from aerowire.driver.streams.network_publication cimport NetworkPublication
from aerowire.driver.media.send_endpoint cimport DestinationChange, SendEndpoint
from aerowire.driver.queues.system_counters cimport SystemCounters
from aerowire.system.poller cimport PortPoller

# What the conductor asks: SenderProxy has a method for each.
cpdef enum:
    ADD_ENDPOINT
    REMOVE_ENDPOINT
    ADD_PUBLICATION
    REMOVE_PUBLICATION
    ADD_DESTINATION
    REMOVE_DESTINATION
    UPDATE_DESTINATION


@cython.final
cdef class Sender(DriverAgent):
    cdef PortPoller _poller
    cdef PointerArray _publications
    cdef PointerArray _named_endpoints      # those with names that may change their address
    cdef DatagramBatch _batch
    cdef int _round_robin
    cdef int _poll_ratio
    cdef int _sends_since_poll
    cdef int64_t _poll_interval_ns
    cdef int64_t _poll_deadline_ns
    cdef int64_t _last_poll_ns
    cdef bint _blocked                      # some publication has data but no window
    cdef int64_t _bytes_resent              # in this cycle
    cdef int64_t _lookup_interval_ns        # 0: names are looked up once
    cdef int64_t _lookup_deadline_ns

    cdef void _add_endpoint(self, SendEndpoint endpoint, int64_t now_ns) noexcept nogil
    cdef void _add_publication(self, NetworkPublication publication, int64_t now_ns) noexcept nogil
    cdef void _change_destination(self, DestinationChange change, int kind, int64_t now_ns) noexcept nogil
    cdef void _check_names(self, int64_t now_ns) noexcept nogil
    cdef void _check_names_of(self, SendEndpoint endpoint, int64_t now_ns) noexcept nogil
    cdef bint _is_heard(self, SendEndpoint endpoint, int64_t now_ns) noexcept nogil
    cdef void _remove_endpoint(self, SendEndpoint endpoint) noexcept nogil
    cdef void _remove_publication(self, NetworkPublication publication) noexcept nogil
    cdef int64_t _send_all(self, int64_t now_ns) noexcept nogil
    cdef int64_t _send_one(self, NetworkPublication publication, int64_t now_ns) noexcept nogil
    cdef int _poll_answers(self, int64_t now_ns) noexcept nogil
    cdef int _poll_socket(self, SendEndpoint endpoint, int64_t now_ns, int* all_taken) noexcept nogil
    cdef bint _on_datagram(self, SendEndpoint endpoint, const uint8_t* frame, int32_t length, const Address* source, int64_t now_ns) noexcept nogil
    cdef bint _on_status_message(self, SendEndpoint endpoint, const uint8_t* frame, int32_t length, const Address* source, int64_t now_ns) noexcept nogil
    cdef void _on_nak(self, SendEndpoint endpoint, const uint8_t* frame, int64_t now_ns) noexcept nogil
    cdef void _on_error(self, SendEndpoint endpoint, const uint8_t* frame, const Address* source, int64_t now_ns) noexcept nogil
