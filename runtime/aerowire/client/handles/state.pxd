# The life of a handle: one word that every call reads first.

from libc.stdint cimport int32_t

cdef enum HandleState:
    STATE_OPEN = 0
    STATE_CLOSED = 1            # by its owner
    STATE_UNAVAILABLE = 2       # an image whose stream has gone
    STATE_TERMINATED = 3        # by the end of the client: the driver died, or dropped the client
    STATE_FORKED = 4            # a copy in a child process, which owns nothing


cdef class Handle:
    """What publications, subscriptions, images and counters share. Its state only ever leaves STATE_OPEN."""

    cdef int32_t handle_state
    cdef int32_t _process_generation
    cdef object ended_by            # what ended the client, for STATE_TERMINATED
    cdef object __weakref__

    cdef bint is_forked(self) noexcept nogil
    cdef object raise_not_open(self)        # the error that a call deserves in this state
    cdef object closed_error(self)          # the class for STATE_CLOSED
