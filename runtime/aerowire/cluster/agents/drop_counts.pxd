# How many messages an agent has dropped, by reason.

cimport cython
from libc.stdint cimport int64_t

cpdef enum DropReasonCode:
    DROP_MALFORMED = 0              # shorter than its template, a gap in its fragments, or longer than memory or log allow
    DROP_NOT_LEADER = 1             # ingress that needs a leader, at a member that leads no term
    DROP_WRONG_TERM = 2             # ingress or a position of another term
    DROP_UNKNOWN_SESSION = 3        # ingress of a session that is not open
    DROP_UNKNOWN_MEMBER = 4         # a position of an unknown member, or of a member that does not lead
    DROP_UNKNOWN_TEMPLATE = 5
    DROP_NO_ROOM = 6                # of messages between members: the conductor has not kept up
    DROP_UNSENT = 7                 # to a member: not connected, or back pressure
    DROP_REASONS = 8


@cython.final
cdef class DropCounts:
    """DropCounts(). One writer: the agent."""

    cdef int64_t _counts[DROP_REASONS]

    cdef void add(self, DropReasonCode reason) noexcept nogil
