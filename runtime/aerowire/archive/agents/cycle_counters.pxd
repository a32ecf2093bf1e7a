# How long an agent's cycles take, for readers in other processes.

cimport cython
from libc.stdint cimport int64_t

from aerowire.agents.duty_cycle cimport DutyCycle
from aerowire.client.lending.lent_counter cimport LentCounter


@cython.final
cdef class CycleCounters:
    """CycleCounters(longest_ns, exceeded, threshold_ns): counters on loan. One writer: the agent."""

    cdef LentCounter _longest_counter
    cdef LentCounter _exceeded_counter
    cdef DutyCycle _cycle               # leads to the two below
    cdef int64_t _longest_ns
    cdef int64_t _exceeded
    cdef int64_t _shown_ns
    cdef int64_t _shown_exceeded
    cdef bint _has_begun
    cdef bint _is_lent

    cdef void start_over(self) noexcept nogil                   # the time until the next cycle does not count: the thread may sleep
    cdef void measure(self, int64_t now_ns) noexcept nogil      # at the top of a cycle; gives back what the client has recalled
    cdef void give_back(self) noexcept nogil
