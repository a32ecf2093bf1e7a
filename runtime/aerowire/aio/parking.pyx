"""How the watcher's thread rests between two looks: long enough to cost next to nothing, short enough to be in time.

Shared memory has no descriptor to sleep on, so the thread looks, and rests for an eighth of the time for which nothing has happened: what
comes after a pause of g is seen g/8 late at most. Arming something calls the thread back from a rest that is worth it. Knows neither
what is watched nor who waits.
"""

cimport cython
from libc.stdint cimport int64_t

from aerowire.memory.atomics cimport cpu_relax, fetch_add_i64, full_fence, load_acquire_i32, load_acquire_i64, store_seq_cst_i32
from aerowire.system.thread_rest cimport aw_now_ns, aw_precise_sleep, sched_yield

cdef enum:
    SPIN_NS = 5000                  # as long as it takes to put a thread to sleep and wake it again
    YIELD_NS = 40000                # the next message of a stream under load is there by then
    QUIET_SHARE = 8
    CALL_WORTH_NS = 50000           # a shorter rest ends before a call would end it

# A sleep costs 15 to 35 us of a virtual machine's processor however long it is: 1 to 3 % of a core. Half of the rest, and 0.3 ms in which
# the loop wakes, is what a message waits for after a long pause.
PARK_MAX_NS = 1300000
# With nothing armed every look is for nothing; a call ends the rest.
REST_MAX_NS = 50000000


@cython.final
cdef class Parking(IdleStrategy):
    """The idle strategy of one watcher. `call()` from any thread, the rest on the watcher's.

    Invariant: who arms, then calls, finds the thread either before its look or rung for: it never sleeps over something that was armed
    after it has looked.
    """

    def __init__(self, int64_t park_max_ns=PARK_MAX_NS, int64_t rest_max_ns=REST_MAX_NS, int64_t rest_min_ns=0):
        """`park_max_ns` is the longest rest while something is armed, the other two bound the rest while nothing is."""
        self.alias = "parking"
        self.arguments = (park_max_ns, rest_max_ns, rest_min_ns)
        self._rest_min_ns = rest_min_ns
        self._park_max_ns = park_max_ns
        self._rest_max_ns = rest_max_ns
        self._bell = Wakeup()
        self._quiet_since_ns = aw_now_ns()

    cdef void reset(self) noexcept nogil:
        self._quiet_since_ns = aw_now_ns()

    cdef void start(self) noexcept nogil:
        aw_precise_sleep()
        self.reset()

    cdef void begin_look(self) noexcept nogil:
        cdef int64_t calls = load_acquire_i64(&self._calls)
        if calls != self._calls_seen:
            self._calls_seen = calls
            self._quiet_since_ns = aw_now_ns()

    cdef void end_look(self, bint is_on_watch) noexcept nogil:
        self._is_on_watch = is_on_watch

    cdef void idle(self, int work_count) noexcept nogil:
        cdef int64_t now_ns = aw_now_ns()
        cdef int64_t quiet_ns
        if work_count > 0:
            self._quiet_since_ns = now_ns
            return
        quiet_ns = now_ns - self._quiet_since_ns
        if quiet_ns < SPIN_NS:
            cpu_relax()
        elif quiet_ns < YIELD_NS:
            sched_yield()
        else:
            if self._is_on_watch:
                self.park(min(quiet_ns // QUIET_SHARE, self._park_max_ns))
            else:
                self.park(max(self._rest_min_ns, min(quiet_ns // QUIET_SHARE, self._rest_max_ns)))

    cdef void park(self, int64_t limit_ns) noexcept nogil:
        if limit_ns < CALL_WORTH_NS:
            self._bell.wait_ns_nogil(limit_ns)
            return
        store_seq_cst_i32(&self._is_parked, 1)
        full_fence()
        # Look again AFTER saying that one must be rung for: who armed before that did not ring.
        if load_acquire_i64(&self._calls) == self._calls_seen:
            self._bell.wait_ns_nogil(limit_ns)
        store_seq_cst_i32(&self._is_parked, 0)
        self._bell.forget()

    cdef void call(self) noexcept nogil:
        fetch_add_i64(&self._calls, 1)
        full_fence()
        if load_acquire_i32(&self._is_parked):
            self._bell.signal()

    def ring(self):
        """End the thread's rest, so that it looks at once."""
        self.call()
