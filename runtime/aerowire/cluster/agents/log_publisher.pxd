# Appends to a leader's log: messages of sessions, and what the conductor has encoded.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.agents.pointer_array cimport PointerArray
from aerowire.client.lending.lent_publication cimport LentPublication
from aerowire.cluster.agents.agent_events cimport ClusterAgentEvents
from aerowire.cluster.agents.outbound_message cimport OutboundMessage

cdef enum:
    APPENDS_MAX = 1 << 12       # of the conductor's that wait for the log: more are answered as back pressure at once
    SESSION_HEADER_LENGTH = 32  # message header and block of a session message


@cython.final
cdef class LogPublisher:
    """LogPublisher(events). The agent's."""

    cdef ClusterAgentEvents _events
    cdef void* _publication                 # a LentPublication; NULL: this member does not lead
    cdef PointerArray _waiting              # OutboundMessages
    cdef int _stale                         # of these, the first ones that were for a log that has ended
    cdef uint8_t _header[SESSION_HEADER_LENGTH]
    cdef int64_t fault                      # the OFFER_ code that ended the log, or 0

    cdef void connect(self, LentPublication publication) noexcept nogil
    cdef void disconnect(self) noexcept nogil           # gives the publication back; what waits is answered as closed
    cdef void look(self) noexcept nogil                 # at the top of a cycle: give a recalled publication back
    # A position, or an OFFER_ code.
    cdef int64_t append_message(self, int64_t leadership_term_id, int64_t cluster_session_id, int64_t timestamp, const uint8_t* payload,
                                int64_t length) noexcept nogil
    cdef void append_later(self, void* message) noexcept nogil
    cdef int append_waiting(self, int64_t timestamp) noexcept nogil
    cdef bint has_waiting(self) noexcept nogil
    cdef int64_t position(self) noexcept nogil          # -1 without a log
    cdef int64_t _append(self, OutboundMessage message, int64_t timestamp) noexcept nogil
    cdef int64_t _note(self, int64_t result) noexcept nogil
