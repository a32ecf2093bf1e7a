# How long a heartbeat in epoch milliseconds has been silent, by a clock that is never set.
#
# A heartbeat says when it was written by the wall clock, which may be set, or go on while the machine is suspended. Its age by that clock
# counts at the first look, less what the clock was stepped since the look before; from then on the monotonic clock counts.

from libc.stdint cimport int64_t

cdef enum:
    HEARTBEAT_NS_PER_MS = 1_000_000
    HEARTBEAT_AGE_MS_MAX = 2_147_483_647    # 24 days, longer than any timeout: nanoseconds of more might not fit

cdef struct LookClock:
    bint has_looked
    int64_t now_ns                      # of the last look; a monotonic clock may begin at 0
    int64_t epoch_ms
    int64_t step_ms                     # by how much the wall clock was set between the last two

cdef struct HeartbeatWatch:
    int64_t heartbeat_ms                # as last seen
    int64_t since_ns                    # when it was written, by the monotonic clock
    bint is_seen


cdef inline void look_at_clocks(LookClock* clock, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
    if clock.has_looked:
        clock.step_ms = (epoch_ms - clock.epoch_ms) - (now_ns - clock.now_ns) // HEARTBEAT_NS_PER_MS
    clock.has_looked = True
    clock.now_ns = now_ns
    clock.epoch_ms = epoch_ms


cdef inline int64_t heartbeat_age_ns(HeartbeatWatch* watch, const LookClock* clock, int64_t heartbeat_ms) noexcept nogil:
    # Nanoseconds since the heartbeat was written; `clock` has been looked at.
    cdef int64_t age_ms
    if not watch.is_seen or heartbeat_ms != watch.heartbeat_ms:
        # A time before 1970 is none that a clock gave. As 1970 it is as old as can be, and the difference does not overflow.
        age_ms = clock.epoch_ms - max(heartbeat_ms, <int64_t>0)
        if 0 < clock.step_ms <= age_ms:
            age_ms -= clock.step_ms
        age_ms = max(<int64_t>0, min(age_ms, <int64_t>HEARTBEAT_AGE_MS_MAX))
        watch.since_ns = clock.now_ns - age_ms * HEARTBEAT_NS_PER_MS
        watch.heartbeat_ms = heartbeat_ms
        watch.is_seen = True
    return clock.now_ns - watch.since_ns
