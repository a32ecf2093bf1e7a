"""The idle strategy of a thread whose sleep others end: what they have put into the thread's queue does not wait for the end of a park.

It spins, yields and sleeps as another strategy does. A wake-up costs its sender a few nanoseconds while the thread does not sleep. A thread
that only a wake-up gives work sleeps for longer, once its strategy has it sleep for long.
"""

from libc.stdint cimport int32_t, int64_t

from aerowire.memory.atomics cimport fetch_add_i32, full_fence, load_acquire_i32, store_seq_cst_i32


cdef enum:
    LONG_REST_NS = 500000           # parks of a strategy that backs off are as long after some milliseconds without work
    DOZE_NS = 100000000             # a wake-up that was lost to a bug is a hiccup


cdef class WokenIdleStrategy(IdleStrategy):
    """An idle strategy and the bell of its thread.

    Invariant: a thread that looks for work, finds none and idles does not sleep over a `wake` that came after its last sleep.
    """

    def __init__(self, IdleStrategy strategy not None):
        self.alias = strategy.alias
        self.arguments = (strategy,)
        self._strategy = strategy
        self._wakeup = Wakeup()

    cdef IdleStrategy fresh(self):
        return WokenIdleStrategy(self._strategy.fresh())

    cdef void reset(self) noexcept nogil:
        self._strategy.reset()

    cdef int64_t step(self, int work_count) noexcept nogil:
        return self._strategy.step(work_count)

    cdef void idle(self, int work_count) noexcept nogil:
        self._rest(self._strategy.step(work_count))

    cdef void doze(self) noexcept nogil:
        cdef int64_t rest_ns = self._strategy.step(0)
        self._rest(rest_ns if rest_ns < LONG_REST_NS else max(rest_ns, <int64_t>DOZE_NS))

    cdef void _rest(self, int64_t rest_ns) noexcept nogil:
        if rest_ns <= 0:
            return
        store_seq_cst_i32(&self._is_resting, 1)
        full_fence()
        # Look again AFTER saying that the bell is to be rung: who woke before that did not ring it.
        if load_acquire_i32(&self._wakes) == self._wakes_seen:
            self._wakeup.wait_ns_nogil(rest_ns)
        store_seq_cst_i32(&self._is_resting, 0)
        self._wakeup.forget()
        self._wakes_seen = load_acquire_i32(&self._wakes)

    def follow(self, WokenIdleStrategy host not None) -> None:
        """Wake the thread that idles by another strategy from now on, in place of an own one. Not while others wake."""
        self._host = host

    def wake(self) -> None:
        """End the thread's sleep, or keep it from the next one. Any thread, AFTER it has queued what the thread is to find."""
        if self._host is not None:
            self._host.wake()
            return
        fetch_add_i32(&self._wakes, 1)
        full_fence()
        if load_acquire_i32(&self._is_resting):
            self._wakeup.signal()
