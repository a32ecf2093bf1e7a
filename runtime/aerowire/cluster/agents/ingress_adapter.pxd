# What clients send to a cluster: session messages into the leader's log, all else to the conductor.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.agents.command_queue cimport CommandQueue
from aerowire.cluster.agents.agent_events cimport ClusterAgentEvents
from aerowire.cluster.agents.drop_counts cimport DropCounts, DropReasonCode
from aerowire.cluster.agents.image_group cimport ImageGroup
from aerowire.cluster.agents.log_publisher cimport LogPublisher
from aerowire.cluster.agents.message_image cimport MessageImage
from aerowire.cluster.agents.session_table cimport SessionTable


@cython.final
cdef class IngressAdapter:
    """IngressAdapter(events, commands, publisher, drops, fragment_limit). The agent's."""

    cdef ClusterAgentEvents _events
    cdef CommandQueue _commands
    cdef LogPublisher _publisher
    cdef DropCounts _drops
    cdef int _fragment_limit
    cdef SessionTable sessions
    cdef ImageGroup images
    cdef bint is_open               # whether ingress is read at all
    cdef bint is_leader
    cdef int64_t leadership_term_id # that this member leads
    cdef int64_t _now_ns
    cdef int64_t _timestamp

    cdef int poll(self, int64_t now_ns, int64_t timestamp) noexcept nogil
    cdef int _poll_image(self, MessageImage image, int limit) noexcept nogil
    # False: the message stays, and is offered again.
    cdef bint _on_message(self, MessageImage image) noexcept nogil
    cdef bint _on_session_message(self, MessageImage image) noexcept nogil
    cdef bint _on_keep_alive(self, MessageImage image) noexcept nogil
    cdef bint _hand_over(self, MessageImage image) noexcept nogil
    cdef void* _session(self, int64_t leadership_term_id, int64_t cluster_session_id, bint* is_dropped) noexcept nogil
    cdef bint _drop(self, DropReasonCode reason) noexcept nogil
