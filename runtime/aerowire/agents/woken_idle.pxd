# The idle strategy of a thread whose sleep others end.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.base.idle cimport IdleStrategy
from aerowire.system.wakeup cimport Wakeup


@cython.final
cdef class WokenIdleStrategy(IdleStrategy):
    """WokenIdleStrategy(strategy). One thread idles, any may `wake`."""

    cdef IdleStrategy _strategy
    cdef Wakeup _wakeup
    cdef WokenIdleStrategy _host        # whose thread runs what this one's would, or None
    cdef int32_t _wakes                 # counted by who wakes
    cdef int32_t _wakes_seen            # by the thread that idles, BEFORE it looks for work
    cdef int32_t _is_resting            # written by the thread that idles

    cdef void _rest(self, int64_t rest_ns) noexcept nogil
