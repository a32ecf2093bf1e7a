"""Which receivers a sender heard from lately: a publication is connected while there is one."""

from libc.stdint cimport INT64_MAX, int64_t
from libc.stdlib cimport free

cimport cython

from aerowire.memory.growing cimport grow


@cython.final
cdef class ReceiverLiveness:
    """Receivers and when each was last heard. Aeron: ReceiverLivenessTracker. Invariant: count <= RECEIVERS_MAX, ids distinct."""

    def __dealloc__(self):
        free(self._records)

    cpdef bint on_status_message(self, int64_t receiver_id, int64_t now_ns) noexcept nogil:
        """Note a status message of a receiver; return True when it is new."""
        cdef int i
        self.is_full = False
        for i in range(self.count):
            if self._records[i].receiver_id == receiver_id:
                self._records[i].last_heard_ns = now_ns
                return False
        self.is_full = self.count == RECEIVERS_MAX
        if self.count == self._capacity and not grow(<void**>&self._records, &self._capacity, sizeof(ReceiverRecord), RECEIVERS_MAX):
            return False
        self._records[self.count].receiver_id = receiver_id
        self._records[self.count].last_heard_ns = now_ns
        self.count += 1
        return True

    cpdef bint on_remote_close(self, int64_t receiver_id) noexcept nogil:
        """Forget a receiver that said it ends; return False when it was not known."""
        cdef int i
        for i in range(self.count):
            if self._records[i].receiver_id == receiver_id:
                self.count -= 1
                self._records[i] = self._records[self.count]
                return True
        return False

    cpdef int on_idle(self, int64_t now_ns, int64_t timeout_ns) noexcept nogil:
        """Forget receivers silent for `timeout_ns`; return how many."""
        cdef int before = self.count
        cdef int i = self.count - 1
        while i >= 0:
            if self._records[i].last_heard_ns + timeout_ns - now_ns <= 0:
                self.count -= 1
                self._records[i] = self._records[self.count]
            i -= 1
        return before - self.count

    cpdef int64_t next_deadline_ns(self, int64_t timeout_ns) noexcept nogil:
        """Return when the first receiver will have been silent too long, INT64_MAX when there is none."""
        cdef int i
        cdef int64_t deadline = INT64_MAX
        for i in range(self.count):
            if self._records[i].last_heard_ns + timeout_ns < deadline:
                deadline = self._records[i].last_heard_ns + timeout_ns
        return deadline
