"""Rules of a driver's counters, looked at after each step of a world: positions do not step back and keep to their limits, and an id that
was freed rests before it is given to the next owner.
"""

from libc.stdint cimport INT64_MIN, int32_t, int64_t
from libc.stdlib cimport calloc, free

from typing import NamedTuple

from aerowire.codecs.native.cnc cimport COUNTER_STATE_ALLOCATED, COUNTER_STATE_RECLAIMED, COUNTER_STATE_UNUSED
from aerowire.ipc.counters cimport counter_get
from aerowire.memory.growing cimport grow

STEPS_BACK = "positions never step back"
PAST_LIMIT = "positions keep to their limits"
REUSED = "a freed counter rests before it has a new owner"

cdef int PAIRS_MAX = 1 << 20        # of one driver: each counter of a stream with each other one


class Breach(NamedTuple):
    """What a look has found: `rule` is one of the constants above."""

    rule: str
    counter_id: int
    expected: str
    saw: int


cdef class CounterWatch:
    """CounterWatch(counters, positions=..., joined=..., bounds=..., reuse_timeout_ms=...): remembers counters. Changed by: look()."""

    def __init__(self, CountersReader counters not None, *, positions=(), joined=(), bounds=(), int64_t reuse_timeout_ms=0):
        """`positions` are types whose values never step back. `bounds` are (type, other type, slack): each value of the type is at most
        `slack` above that of each counter of the other type in its stream. Counters of `joined` types refer to their stream, the others are
        registered under it; a joined one is 0 until its subscriber is counted, and limits nothing before.
        """
        self._counters = counters
        for type_id in positions:
            self._is_position[<int>type_id] = True
        for type_id in joined:
            self._is_joined[<int>type_id] = True
        if len(bounds) > BOUNDS_MAX:
            raise ValueError(f"bounds: expected at most {BOUNDS_MAX}, actual {len(bounds)}")
        for type_id, limit_type_id, slack in bounds:
            self._bounds[self._bound_count] = TypeBound(type_id, limit_type_id, slack)
            self._bound_count += 1
        self._reuse_timeout_ms = reuse_timeout_ms
        self._watched = <WatchedCounter*>calloc(counters.capacity, sizeof(WatchedCounter))
        if self._watched == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._watched)
        free(self._pairs)

    def look(self, int64_t now_ms):
        """Return None, or the first Breach since the last look. `now_ms` is the wall clock of the driver's host."""
        cdef int32_t counter_id, state
        cdef int64_t value
        cdef WatchedCounter* watched
        cdef bint is_changed = False
        breach = None
        for counter_id in range(self._counters.capacity):
            state = self._counters.counter_state(counter_id)
            if state == COUNTER_STATE_UNUSED:
                break
            watched = &self._watched[counter_id]
            if state != COUNTER_STATE_ALLOCATED:
                if watched.state != state:
                    is_changed = True
                    found = self._on_free(counter_id, now_ms)
                    breach = breach or found
                continue
            value = counter_get(self._counters.value_address(counter_id))
            if (watched.state != state or watched.registration_id != self._counters.counter_registration_id(counter_id)
                    or watched.type_id != self._counters.counter_type_id(counter_id)):
                is_changed = True
                found = self._on_owner(counter_id, now_ms)
                breach = breach or found
            elif value < watched.value and 0 <= watched.type_id < TYPES_MAX and self._is_position[watched.type_id]:
                breach = breach or Breach(STEPS_BACK, counter_id, f">= {watched.value}", value)
            watched.value = value
        if is_changed:
            self._pair_counters()
        self._looked_ms = now_ms
        self._has_looked = True
        return breach or self._past_bound()

    # -- Owners --------------------------------------------------------------------------------------------------------------------

    cdef object _on_free(self, int32_t counter_id, int64_t now_ms):
        cdef WatchedCounter* watched = &self._watched[counter_id]
        # Freed since the last look, before or after the clock was set where it was.
        cdef int64_t freed_ms = min(self._looked_ms, now_ms)
        watched.state = COUNTER_STATE_RECLAIMED
        watched.reusable_ms = self._counters.free_for_reuse_deadline_ms(counter_id)
        if self._has_looked and watched.reusable_ms < freed_ms + self._reuse_timeout_ms:
            return Breach(REUSED, counter_id, f"not before {freed_ms + self._reuse_timeout_ms} ms", watched.reusable_ms)
        return None

    cdef object _on_owner(self, int32_t counter_id, int64_t now_ms):
        cdef WatchedCounter* watched = &self._watched[counter_id]
        cdef int64_t allowed_ms = INT64_MIN
        if watched.state == COUNTER_STATE_RECLAIMED:
            allowed_ms = watched.reusable_ms
        elif watched.state == COUNTER_STATE_ALLOCATED:      # freed and given out again since the last look
            allowed_ms = self._looked_ms + self._reuse_timeout_ms
        watched.state = COUNTER_STATE_ALLOCATED
        watched.registration_id = self._counters.counter_registration_id(counter_id)
        watched.type_id = self._counters.counter_type_id(counter_id)
        if max(self._looked_ms, now_ms) < allowed_ms:
            return Breach(REUSED, counter_id, f"not before {allowed_ms} ms", now_ms)
        return None

    # -- Bounds --------------------------------------------------------------------------------------------------------------------

    cdef int _pair_counters(self) except -1:
        cdef int i
        self._pair_count = 0
        for i in range(self._bound_count):
            self._pair_streams(&self._bounds[i])
        return 0

    cdef int _pair_streams(self, const TypeBound* bound) except -1:
        cdef int32_t counter_id, limit_id
        cdef BoundPair* pair
        for counter_id in range(self._counters.capacity):
            if self._watched[counter_id].state == COUNTER_STATE_UNUSED:
                break
            if self._watched[counter_id].state != COUNTER_STATE_ALLOCATED or self._watched[counter_id].type_id != bound.type_id:
                continue
            for limit_id in range(self._counters.capacity):
                if self._watched[limit_id].state == COUNTER_STATE_UNUSED:
                    break
                if (self._watched[limit_id].state != COUNTER_STATE_ALLOCATED or self._watched[limit_id].type_id != bound.limit_type_id
                        or self._stream_of(limit_id) != self._stream_of(counter_id)):
                    continue
                if self._pair_count == self._pair_capacity and not grow(
                        <void**>&self._pairs, &self._pair_capacity, sizeof(BoundPair), PAIRS_MAX):
                    raise MemoryError("pairs of counters")
                pair = &self._pairs[self._pair_count]
                self._pair_count += 1
                pair.counter_id = counter_id
                pair.limit_id = limit_id
                pair.slack = bound.slack
                pair.ignores_zero = 0 <= bound.limit_type_id < TYPES_MAX and self._is_joined[bound.limit_type_id]
        return 0

    cdef int64_t _stream_of(self, int32_t counter_id) noexcept nogil:
        cdef int32_t type_id = self._watched[counter_id].type_id
        if 0 <= type_id < TYPES_MAX and self._is_joined[type_id]:
            return self._counters.counter_reference_id(counter_id)
        return self._watched[counter_id].registration_id

    cdef object _past_bound(self):
        cdef BoundPair* pair
        cdef int64_t limit
        cdef int i
        for i in range(self._pair_count):
            pair = &self._pairs[i]
            limit = self._watched[pair.limit_id].value
            if self._watched[pair.counter_id].value > limit + pair.slack and not (pair.ignores_zero and limit == 0):
                expected = f"<= {limit} + {pair.slack}, where counter {pair.limit_id} ({self._counters.label(pair.limit_id)}) is at {limit}"
                return Breach(PAST_LIMIT, pair.counter_id, expected, self._watched[pair.counter_id].value)
        return None
