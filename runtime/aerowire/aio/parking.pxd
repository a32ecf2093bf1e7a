# How the watcher's thread rests between looks, and how it is called back.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.base.idle cimport IdleStrategy
from aerowire.system.wakeup cimport Wakeup


@cython.final
cdef class Parking(IdleStrategy):
    # the watcher's thread
    cdef int64_t _quiet_since_ns
    cdef int64_t _calls_seen
    cdef bint _is_on_watch              # something is armed
    cdef int64_t _park_max_ns
    cdef int64_t _rest_max_ns
    cdef int64_t _rest_min_ns
    # between threads
    cdef int64_t _calls                 # written by who arms; what the watcher saw of it says whether it may sleep
    cdef int32_t _is_parked             # written by the watcher: it must be rung for
    cdef Wakeup _bell

    cdef void begin_look(self) noexcept nogil                   # watcher: BEFORE it looks at what is armed
    cdef void end_look(self, bint is_on_watch) noexcept nogil
    cdef void start(self) noexcept nogil                        # the thread has begun
    cdef void call(self) noexcept nogil                         # who has armed something, AFTER arming it
    cdef void park(self, int64_t limit_ns) noexcept nogil
