# What the members of a cluster have told a leader of its log, and the rules of a majority over that.

cimport cython
from libc.stdint cimport int32_t, int64_t

cdef enum:
    MEMBERS_MAX = 1 << 10           # more than a message that lists members has room for

cdef struct MemberPosition:
    int32_t member_id
    int32_t is_heard                # there is a time; the fields below are written by the agent, and read by any thread
    int64_t leadership_term_id
    int64_t log_position
    int64_t time_of_last_append_position_ns


@cython.final
cdef class MemberPositions:
    """MemberPositions(member_ids). One writer: the agent."""

    cdef MemberPosition* members
    cdef int64_t* _ranked           # the highest positions, of as many members as are a majority
    cdef readonly int count
    cdef readonly int quorum_threshold

    cdef int index_of(self, int32_t member_id) noexcept nogil           # -1: no member
    cpdef bint update(self, int32_t member_id, int64_t leadership_term_id, int64_t log_position, int64_t now_ns) noexcept nogil
    cpdef void adopt(self, MemberPositions heard, int64_t now_ns) noexcept nogil
    cpdef bint has_active_quorum(self, int64_t now_ns, int64_t timeout_ns) noexcept nogil
    cpdef int64_t quorum_position(self, int64_t leadership_term_id, int64_t now_ns, int64_t timeout_ns) noexcept nogil
    cdef bint _is_active(self, const MemberPosition* member, int64_t now_ns, int64_t timeout_ns) noexcept nogil
