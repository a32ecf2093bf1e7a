# A message that the conductor has encoded, for the agent to append to the log or to send to a member.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.cluster.agents.session_table cimport OpenSession


@cython.final
cdef class OutboundMessage:
    """OutboundMessage(message, session=None). The agent's from its command until its final event.

    The append of an open event opens `session`, which the message keeps.
    """

    cdef uint8_t* address
    cdef readonly int32_t length
    cdef int32_t _template_id           # of the cluster's schema; 0: of another one
    cdef OpenSession _session           # or None

    # Fill in what only the agent knows: at which position of the log the message ends, and at which time.
    cdef void stamp(self, int64_t log_position, int64_t timestamp) noexcept nogil
    # Open the session whose open event this is, now that it is in the log.
    cdef void open_session(self) noexcept nogil
