# The life of a handle: one word that every call reads first.

from libc.stdint cimport int32_t

from aerowire.client.handles.loan cimport Loan

cdef enum HandleState:
    STATE_OPEN = 0
    STATE_CLOSED = 1            # by its owner
    STATE_UNAVAILABLE = 2       # an image whose stream has gone
    STATE_TERMINATED = 3        # by the end of the client: the driver died, or dropped the client
    STATE_FORKED = 4            # a copy in a child process, which owns nothing
    STATE_KILLED = 6            # of a simulated process that was killed, which changes nothing any more
    STATE_LENT = 5              # on loan to a native agent, which alone writes: open again when it has been taken back


cdef class Handle:
    """What publications, subscriptions, images and counters share. Its state only ever leaves STATE_OPEN, but for a loan."""

    cdef int32_t handle_state
    cdef int32_t _process_generation
    cdef object ended_by            # what ended the client, for STATE_TERMINATED
    cdef Loan loan                  # None while it is not on loan
    cdef object __weakref__

    cdef bint is_live(self) noexcept nogil      # open, or on loan
    cdef bint is_forked(self) noexcept nogil
    cdef bint is_disowned(self) noexcept nogil  # forked, or killed: not to be changed by what is collected
    cdef int begin_loan(self, Loan loan) except -1
    cdef object raise_not_open(self)        # the error that a call deserves in this state
    cdef object closed_error(self)          # the class for STATE_CLOSED
