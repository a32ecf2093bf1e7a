"""How much an agent has read or written, and how long that took."""

from libc.stdint cimport int64_t


cdef class TransferCounters:
    """Sums of an agent, shown in three counters of the archive's client; without counters they are only kept.

    The counters begin at 0 with the agent.
    """

    def __init__(self, LentCounter bytes_total=None, LentCounter time_total_ns=None, LentCounter time_max_ns=None):
        self._bytes_total = bytes_total
        self._time_total_ns = time_total_ns
        self._time_max_ns = time_max_ns
        self._is_lent = bytes_total is not None and time_total_ns is not None and time_max_ns is not None
        if not self._is_lent and not (bytes_total is time_total_ns is time_max_ns is None):
            raise ValueError("expected three counters, or none")

    cdef void add(self, int64_t count, int64_t time_ns) noexcept nogil:
        self._bytes += count
        self._time_ns += time_ns
        self._longest_ns = max(self._longest_ns, time_ns)
        self._is_changed = True

    cdef void show(self) noexcept nogil:
        if not self._is_lent:
            return
        if not (self._bytes_total.is_out() and self._time_total_ns.is_out() and self._time_max_ns.is_out()):
            self.give_back()
        elif self._is_changed:
            self._is_changed = False
            self._bytes_total.set(self._bytes)
            self._time_total_ns.set(self._time_ns)
            self._time_max_ns.set(self._longest_ns)

    cdef void give_back(self) noexcept nogil:
        if self._is_lent:
            self._is_lent = False
            self._bytes_total.give_back()
            self._time_total_ns.give_back()
            self._time_max_ns.give_back()
