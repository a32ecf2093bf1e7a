# Something of a client on loan to a native agent.

from libc.stdint cimport int32_t

cdef enum LoanState:
    LOAN_OUT = 0
    LOAN_RECALLED = 1
    LOAN_RETURNED = 2


cdef class Loan:
    cdef int32_t _state
    cdef object _handle                 # weak: the handle keeps the loan
    cdef object __weakref__

    cdef int lend(self, object handle) except -1

    # The agent's side, on its own thread; nothing of the loan is touched after give_back.
    cdef bint is_out(self) noexcept nogil               # look at the top of each cycle; give it back once it is not
    cdef void give_back(self) noexcept nogil
