# How much an agent has read or written, and how long that took. Aeron: ArchiveConductor.Recorder and Replayer.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.client.lending.lent_counter cimport LentCounter


@cython.final
cdef class TransferCounters:
    """TransferCounters(bytes_total=None, time_total_ns=None, time_max_ns=None): counters on loan. One writer: the agent."""

    cdef LentCounter _bytes_total
    cdef LentCounter _time_total_ns
    cdef LentCounter _time_max_ns
    cdef int64_t _bytes
    cdef int64_t _time_ns
    cdef int64_t _longest_ns
    cdef bint _is_changed
    cdef bint _is_lent

    cdef void add(self, int64_t count, int64_t time_ns) noexcept nogil
    cdef void show(self) noexcept nogil             # at the end of a cycle; gives back what the client has recalled
    cdef void give_back(self) noexcept nogil
