# Watches addresses in shared memory for an event loop.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.aio.parking cimport Parking
from aerowire.base.runner cimport NativeAgent
from aerowire.system.wakeup cimport Wakeup

# When a watch fires: as soon as what stands at its address ...
cdef enum Condition:
    WATCH_FRAME = 0             # ... is a committed frame's length: 32 bits, above 0
    WATCH_I32_CHANGE = 1        # ... is not `value` any more: 32 bits
    WATCH_I64_CHANGE = 2        # the same with 64 bits
    WATCH_I64_ABOVE = 3         # ... is above `value`: 64 bits

# state: the number of the arming, shifted left by one; the low bit says whether it is armed. Written last when arming, and taken back by
# compare-and-swap by whoever comes first, the watcher that fires or the loop that disarms: a late look cannot fire a newer arming.
cdef struct Watch:
    int64_t state
    int64_t address
    int64_t value
    int64_t condition


@cython.final
cdef class Watcher(NativeAgent):
    cdef readonly Parking parking
    cdef readonly Wakeup bell
    cdef readonly int capacity
    cdef Watch* _watches
    # the loop's thread
    cdef list _holds                    # by watch: what keeps its address mapped
    cdef list _free
    cdef object _retired                # (looks before, watch or -1, what was held), oldest first
    # between threads
    cdef int32_t _used                  # watches that were ever handed out; written by the loop
    cdef int64_t _looks                 # completed; written by the watcher
    cdef int32_t* _fired                # a ring of watches: written by the watcher at _fired_tail, read by the loop at _fired_head
    cdef int64_t _fired_head
    cdef int64_t _fired_tail

    # Loop: fire `watch` once, as soon as `condition` holds; `hold` keeps the address mapped. Takes the place of what it was armed for.
    cdef int arm(self, int watch, Condition condition, const void* address, int64_t value, object hold) except -1
    cdef int retire(self, int watch, object hold) except -1
    cdef int look(self) noexcept nogil
    cdef bint fire(self, int32_t watch, int64_t state) noexcept nogil
