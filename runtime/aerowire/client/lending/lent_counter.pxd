# A counter on loan to a native agent.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.client.handles.loan cimport Loan
from aerowire.ipc.owned_counter cimport OwnedCounter


@cython.final
cdef class LentCounter(Loan):
    cdef OwnedCounter _counter
    cdef object _counters           # keeps the value mapped

    # The agent's side. False, and nothing was stored, once it is recalled or another's.
    cdef int64_t get(self) noexcept nogil
    cdef bint set(self, int64_t value) noexcept nogil
    cdef bint add(self, int64_t by) noexcept nogil
    cdef bint propose_max(self, int64_t value) noexcept nogil
