# The agent that keeps every stream in order: limits, loss, consumption, cleaning, liveness of streams, clients and the driver itself.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.agents.command_queue cimport Command
from aerowire.agents.pointer_array cimport PointerArray
from aerowire.driver.agents.agent_base cimport DriverAgent
from aerowire.driver.agents.client_liveness cimport ClientLiveness
from aerowire.ipc.counters cimport CountersReader
from aerowire.ipc.heartbeat cimport LookClock
from aerowire.ipc.ring_buffer cimport ManyToOneRingBuffer

# What the conductor asks: ConductorAgentProxy has a method for each.
cpdef enum:
    ADD_IPC_PUBLICATION
    ADD_NETWORK_PUBLICATION
    CLOSE_IPC_PUBLICATION
    CLOSE_NETWORK_PUBLICATION
    REJECT_IPC_PUBLICATION
    ADD_IMAGE
    LINK_SUBSCRIBER
    UNLINK_SUBSCRIBER
    ADD_CLIENT


@cython.final
cdef class ConductorAgent(DriverAgent):
    cdef CountersReader _counters
    cdef ManyToOneRingBuffer _to_driver
    cdef PointerArray _ipc_publications
    cdef PointerArray _network_publications
    cdef PointerArray _images
    cdef ClientLiveness _clients
    cdef int64_t _timer_interval_ns
    cdef int64_t _timer_deadline_ns
    cdef int64_t _client_timeout_ns
    cdef int64_t _signalled_position        # of the ring's producers, that the conductor was woken for
    cdef int64_t _blocked_position          # of the ring's consumer, when it last moved
    cdef int64_t _last_moved_ns
    cdef LookClock _look

    cdef int _watch_commands(self) noexcept nogil
    cdef int _track_streams(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil
    cdef void _on_timer(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil
    cdef void _check_blocked_commands(self, int64_t now_ns) noexcept nogil
    cdef void _check_clients(self) noexcept nogil
    cdef void _add_client(self, int64_t client_id, int32_t heartbeat_counter_id) noexcept nogil
    cdef void _link(self, Command* command, int64_t now_ns) noexcept nogil
    cdef void _unlink(self, Command* command) noexcept nogil
