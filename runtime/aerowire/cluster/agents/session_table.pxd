# The open sessions of clients, as the leader's agent looks them up for each message.

cimport cython
from libc.stdint cimport int32_t, int64_t

cdef enum:
    SESSIONS_MAX = 1 << 22


@cython.final
cdef class OpenSession:
    """OpenSession(cluster_session_id, time_of_last_activity_ns, *, is_open=True). The agent's from its command until its final event.

    One that is not open yet keeps its client's messages where they are: its open event is about to be appended.
    """

    cdef readonly int64_t cluster_session_id
    cdef bint is_open
    # Written by the agent, read by any thread.
    cdef int64_t _time_of_last_activity_ns
    cdef int64_t _ingress_image_id          # -1: none

    cdef void touch(self, int64_t now_ns) noexcept nogil
    cdef void link_image(self, int64_t image_id) noexcept nogil


@cython.final
cdef class SessionTable:
    """SessionTable(). Borrowed pointers to OpenSessions by their id; the agent's alone."""

    cdef void** _slots
    cdef int _capacity                      # a power of two, at least twice the count
    cdef readonly int count

    cdef bint put(self, OpenSession session) noexcept nogil             # False: its id is there, or no memory
    cdef void* find(self, int64_t cluster_session_id) noexcept nogil    # NULL: none
    cdef bint take_out(self, int64_t cluster_session_id) noexcept nogil
    cdef int _slot_of(self, int64_t cluster_session_id) noexcept nogil
    cdef bint _resize(self, int capacity) noexcept nogil
