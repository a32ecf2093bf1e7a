# Rules of a driver's counters, looked at after each step of a world.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.ipc.counters cimport CountersReader

cdef enum:
    TYPES_MAX = 256                 # ids of types that rules are about are below it
    BOUNDS_MAX = 32                 # of one watch

cdef struct WatchedCounter:
    int64_t registration_id         # whose the counter was at the last look
    int64_t value
    int64_t reusable_ms             # of a freed one: when it may be given out again, by the wall clock
    int32_t type_id
    int32_t state                   # at the last look

cdef struct TypeBound:
    int32_t type_id                 # values of this type
    int32_t limit_type_id           # are at most those of this one in the same stream
    int64_t slack                   # and so much more

cdef struct BoundPair:
    int32_t counter_id
    int32_t limit_id
    int64_t slack
    bint ignores_zero               # the limit counts once it has moved


@cython.final
cdef class CounterWatch:
    cdef CountersReader _counters
    cdef WatchedCounter* _watched
    cdef bint _is_position[TYPES_MAX]   # by type
    cdef bint _is_joined[TYPES_MAX]     # by type: counters of subscribers, which refer to their stream
    cdef TypeBound _bounds[BOUNDS_MAX]
    cdef int _bound_count
    cdef BoundPair* _pairs
    cdef int _pair_count
    cdef int _pair_capacity
    cdef int64_t _reuse_timeout_ms
    cdef int64_t _looked_ms             # wall clock of the last look
    cdef bint _has_looked

    cdef int _pair_counters(self) except -1
    cdef int _pair_streams(self, const TypeBound* bound) except -1
    cdef int64_t _stream_of(self, int32_t counter_id) noexcept nogil
    cdef object _on_owner(self, int32_t counter_id, int64_t now_ms)
    cdef object _on_free(self, int32_t counter_id, int64_t now_ms)
    cdef object _past_bound(self)
