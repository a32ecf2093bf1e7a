# A message that the conductor has encoded, for the agent to append to the log or to send to a member.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t


@cython.final
cdef class OutboundMessage:
    """OutboundMessage(message). The agent's from its command until its final event."""

    cdef uint8_t* address
    cdef readonly int32_t length
    cdef int32_t _template_id           # of the cluster's schema; 0: of another one

    # Fill in what only the agent knows: at which position of the log the message ends, and at which time.
    cdef void stamp(self, int64_t log_position, int64_t timestamp) noexcept nogil
