"""A counter on loan to a native agent. Others may go on reading and changing it: it is shared memory as before."""

from libc.stdint cimport int64_t

from aerowire.base.wrapping cimport wrapping_add_long
from aerowire.client.handles.counter cimport Counter
from aerowire.ipc.counters cimport counter_get
from aerowire.ipc.owned_counter cimport owned_counter_is_owned, owned_counter_open, owned_counter_replace


cdef class LentCounter(Loan):
    """A counter that a native agent sets; LentCounter(counter) lends it."""

    def __init__(self, Counter counter not None):
        counter.begin_loan(self)
        self._counters = counter.counters()
        owned_counter_open(&self._counter, counter.counters(), counter.counter_id)

    cdef int64_t get(self) noexcept nogil:
        return counter_get(self._counter.value)

    cdef bint set(self, int64_t value) noexcept nogil:
        # Each try sees a value that another has stored meanwhile: some writer gets on.
        while self.is_out() and owned_counter_is_owned(&self._counter):
            if owned_counter_replace(&self._counter, counter_get(self._counter.value), value):
                return True
        return False

    cdef bint add(self, int64_t by) noexcept nogil:
        cdef int64_t current
        while self.is_out() and owned_counter_is_owned(&self._counter):
            current = counter_get(self._counter.value)
            if owned_counter_replace(&self._counter, current, wrapping_add_long(current, by)):
                return True
        return False

    cdef bint propose_max(self, int64_t value) noexcept nogil:
        cdef int64_t current
        while self.is_out() and owned_counter_is_owned(&self._counter):
            current = counter_get(self._counter.value)
            if current >= value:
                return False
            if owned_counter_replace(&self._counter, current, value):
                return True
        return False

    # -- Python faces ----------------------------------------------------------------------------------------------------------------

    def store(self, int64_t value) -> bool:
        """Set it, as the agent would."""
        return self.set(value)
