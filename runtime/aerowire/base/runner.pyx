"""Runs agents: in a daemon thread, which does not take the interpreter lock if all are native, or in the caller's.

Knows agents, a clock, and an idle strategy or a sleeper; nothing of what the agents do. The contract of agents is in agent.py.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport calloc, free

import atexit
import contextlib
import os
import threading
import weakref

from aerowire.base.errors import AerowireError
from aerowire.base.fork import forked, poison
from aerowire.base.idle cimport IdleStrategy
from aerowire.base.ports cimport ClockPort
from aerowire.base.atomics cimport load_acquire_i32, load_relaxed_i64, store_relaxed_i64, store_release_i32

cdef extern from *:
    """
    #ifndef _GNU_SOURCE
    #define _GNU_SOURCE
    #endif
    #include <pthread.h>
    #ifdef __linux__
    static inline int aw_name_thread(const char *name) { return pthread_setname_np(pthread_self(), name); }
    #else
    static inline int aw_name_thread(const char *name) { (void)name; return 0; }
    #endif
    """
    int aw_name_thread(const char* name) nogil

STOP_TIMEOUT_S = 5.0        # how long exit waits for an agent whose cycle hangs
SLEEP_NS_MAX = 1000000000   # how long Python agents sleep at most, so that a wake-up lost to a bug is a hiccup and not a hang
NATIVE_NAME_LENGTH_MAX = 15 # of a thread, in octets: the kernel's limit

cdef enum State:
    STATE_NEW = 0
    STATE_STARTED = 1
    STATE_CLOSED = 2


cdef class NativeAgent:
    """A role with a native duty cycle; as `Agent`.  Subclasses override; all methods run on the agent's own thread."""

    cdef void on_start(self) noexcept nogil:
        pass

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        return 0

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        return INT64_MAX

    cdef bint is_dormant(self) noexcept nogil:
        return False

    cdef void on_close(self) noexcept nogil:
        pass

    @property
    def role_name(self) -> str:
        """Name for threads, counters and errors."""
        return type(self).__name__


cdef class AgentInvoker:
    """The duty cycle of native and Python agents in the caller's thread, in the order given.

    Native agents that follow each other run without the interpreter lock.  What a Python agent raises ends the cycle and reaches the caller.
    Invariant: agents are started at most once and closed at most once, and closed only after they were started.
    """

    def __init__(self, agents, ClockPort clock not None):
        self._agents = list(agents)
        self._count = <int>len(self._agents)
        self._native = <void**>calloc(max(1, self._count), sizeof(void*))
        if self._native == NULL:
            raise MemoryError("agent table")
        for index, agent in enumerate(self._agents):
            if isinstance(agent, NativeAgent):
                self._native[<int>index] = <void*>agent
        self._clock = clock

    def __dealloc__(self):
        free(self._native)

    cdef int run_once(self) noexcept nogil:
        cdef int64_t now_ns = self._clock.nano_time()
        cdef int64_t epoch_ms = self._clock.epoch_ms()
        cdef int work = 0
        cdef int index
        store_relaxed_i64(&self._cycles, self._cycles + 1)
        for index in range(self._count):
            work += (<NativeAgent>self._native[index]).do_work(now_ns, epoch_ms)
        return work

    cdef bint is_dormant(self) noexcept nogil:
        cdef int index
        for index in range(self._count):
            if not (<NativeAgent>self._native[index]).is_dormant():
                return False
        return True

    def invoke(self) -> int:
        """Run one duty cycle; return the work done, 0 before start() and after close()."""
        return self.invoke_at(self._clock.nano_time(), self._clock.epoch_ms())

    cpdef int invoke_at(self, int64_t now_ns, int64_t epoch_ms) except? -1:
        """Run one duty cycle at a literal time, for a caller that owns time."""
        cdef int work = 0
        cdef int index = 0
        if self._state == STATE_STARTED:
            store_relaxed_i64(&self._cycles, self._cycles + 1)
        while index < self._count and self._state == STATE_STARTED:     # an agent may close the invoker
            if self._native[index] == NULL:
                work += self._agents[index].do_work(now_ns, epoch_ms)
                index += 1
            else:
                with nogil:
                    while index < self._count and self._native[index] != NULL:
                        work += (<NativeAgent>self._native[index]).do_work(now_ns, epoch_ms)
                        index += 1
        return work

    def invoke_native(self) -> int:
        """Run one duty cycle of the native agents alone, for a caller that runs the others when they are woken or due."""
        cdef int64_t now_ns = self._clock.nano_time()
        cdef int64_t epoch_ms = self._clock.epoch_ms()
        cdef int work = 0
        cdef int index
        if self._state == STATE_STARTED:
            store_relaxed_i64(&self._cycles, self._cycles + 1)
            with nogil:
                for index in range(self._count):
                    if self._native[index] != NULL:
                        work += (<NativeAgent>self._native[index]).do_work(now_ns, epoch_ms)
        return work

    def next_native_deadline_ns(self) -> int:
        """Earliest deadline of the native agents."""
        cdef int64_t deadline_ns = INT64_MAX
        cdef int index
        for index in range(self._count):
            if self._native[index] != NULL:
                deadline_ns = min(deadline_ns, (<NativeAgent>self._native[index]).next_deadline_ns())
        return deadline_ns

    def start(self):
        """Run every agent's on_start; once."""
        if self._state == STATE_NEW:
            self._state = STATE_STARTED
            for agent in self._agents:
                self._started += 1
                if isinstance(agent, NativeAgent):
                    (<NativeAgent>agent).on_start()
                else:
                    agent.on_start()

    def next_deadline_ns(self) -> int:
        """Earliest deadline of all agents."""
        cdef int64_t earliest = INT64_MAX
        cdef int64_t deadline
        cdef int index
        for index in range(self._count):
            if self._native[index] == NULL:
                deadline = self._agents[index].next_deadline_ns()
            else:
                deadline = (<NativeAgent>self._native[index]).next_deadline_ns()
            earliest = min(earliest, deadline)
        return earliest

    def close(self):
        """Run the on_close of every agent that was started; once.  The first error of theirs is raised when all have run."""
        self._state = STATE_CLOSED
        started, self._started = self._started, 0
        failure = None
        for agent in self._agents[:started]:
            try:
                if isinstance(agent, NativeAgent):
                    (<NativeAgent>agent).on_close()
                else:
                    agent.on_close()
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure

    @property
    def cycle_count(self) -> int:
        """Duty cycles run so far."""
        return load_relaxed_i64(&self._cycles)

    @property
    def agents(self) -> list:
        return list(self._agents)

    @property
    def role_name(self) -> str:
        return "+".join(agent.role_name for agent in self._agents)

    @property
    def is_closed(self) -> bool:
        return self._state == STATE_CLOSED

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc_info):
        self.close()


def name_thread(str name):
    """Give the calling thread its name in the operating system's lists; what does not fit is cut."""
    cdef bytes text = name.encode("ascii", "replace")[:NATIVE_NAME_LENGTH_MAX]
    aw_name_thread(text)


_running = weakref.WeakSet()


cdef class AgentRunner:
    """One daemon thread that runs agents until told to stop; without the interpreter lock, and stopped at interpreter exit, if all are native.

    Changed by: start() and stop(), from any other thread.  `idle` is an idle strategy for native agents alone.  With a Python agent among
    them it is a `Sleeper`: after a cycle without work the thread sleeps there until the next deadline, or until woken, at most a second.
    `role_name` is the thread's name, `cpu` pins it.  `on_start(role_name)` is called on it before the agents begin; what it raises ends the
    thread, as does what an agent's on_start raises.  `on_error(error)` gets what a Python agent's do_work raises, and the loop goes on;
    without it the thread ends.  `thread_factory(target, name)` makes the thread, which then keeps its own name and is not waited for.
    """

    def __init__(self, agents, ClockPort clock not None, idle not None, *, role_name=None, cpu=None, on_start=None, on_error=None,
                 thread_factory=None):
        self._invoker = agents if isinstance(agents, AgentInvoker) else AgentInvoker(agents, clock)
        if all(isinstance(agent, NativeAgent) for agent in self._invoker._agents):
            self._idle = idle
            self._wake = getattr(idle, "wake", None)
        else:
            self._sleep, self._wake = idle.sleep, idle.wake
        self._cpu = cpu
        self._on_start = on_start
        self._on_error = on_error
        self._thread_factory = thread_factory
        self._begun = threading.Event()
        self._role_name = role_name or self._invoker.role_name

    def start(self):
        """Start the thread; return when the agents have begun.  Once."""
        self._check_fork()
        if self._thread is not None:
            raise AerowireError("agent runner was already started", where=self._role_name, expected="one start", actual="another",
                                hint="make another runner")
        if self._thread_factory is None:
            self._thread = threading.Thread(target=self._run, name=self._role_name, daemon=True)
        else:
            self._thread = self._thread_factory(self._run, self._role_name)
        if self._idle is not None:
            _running.add(self)
        poison(self)
        self._thread.start()
        if self._thread_factory is None:
            self._begun.wait()
        return self

    def _run(self):
        if self._thread_factory is None:
            name_thread(self._role_name)
        if self._cpu is not None:
            with contextlib.suppress(OSError, AttributeError):      # a processor that is not there for us is no reason not to run
                os.sched_setaffinity(0, {self._cpu})
        try:
            try:
                if self._on_start is not None:
                    on_start, self._on_start = self._on_start, None     # whose it is may go before the thread does
                    on_start(self._role_name)
                    del on_start
                self._invoker.start()
                store_release_i32(&self._running, 1)
            finally:
                self._begun.set()
            if self._idle is not None:
                with nogil:
                    self._loop()
            else:
                self._loop_in_python()
        finally:
            self._invoker.close()
            store_release_i32(&self._running, 0)

    cdef void _loop(self) noexcept nogil:
        cdef int work
        while load_acquire_i32(&self._stop) == 0:
            work = self._invoker.run_once()
            if work == 0 and self._invoker.is_dormant():
                self._idle.doze()
            else:
                self._idle.idle(work)

    cdef int _loop_in_python(self) except -1:
        cdef int work
        while load_acquire_i32(&self._stop) == 0:
            work = 0
            try:
                work = self._invoker.invoke()
            except Exception as error:
                if self._on_error is None:
                    raise
                self._on_error(error)
            if work == 0 and load_acquire_i32(&self._stop) == 0:
                self._sleep(min(max(self._invoker.next_deadline_ns() - self._invoker._clock.nano_time(), 0), SLEEP_NS_MAX))
        return 0

    def stop(self, timeout_s=None) -> bool:
        """Ask the thread to end and wait for it; True when it has ended.  Idempotent."""
        self._check_fork()
        store_release_i32(&self._stop, 1)
        if self._wake is not None:
            self._wake()
        thread = self._thread
        if thread is None or thread.ident is None:      # never started
            return True
        if thread is not threading.current_thread():
            thread.join(timeout_s)
        if not thread.is_alive():
            _running.discard(self)
        return not thread.is_alive()

    @property
    def is_running(self) -> bool:
        """Whether the thread is between start and stop."""
        return not self._forked and load_acquire_i32(&self._running) != 0

    @property
    def invoker(self) -> AgentInvoker:
        return self._invoker

    @property
    def role_name(self) -> str:
        return self._role_name

    def _on_fork(self):
        self._forked = True
        _running.discard(self)

    cdef int _check_fork(self) except -1:
        if self._forked:
            raise forked(f"agent runner {self._role_name}")
        return 0

    def __enter__(self):
        return self.start()

    def __exit__(self, *exc_info):
        self.stop()


def _stop_all():
    """A thread that still runs while the interpreter dies would call into freed memory."""
    for runner in list(_running):
        runner.stop(STOP_TIMEOUT_S)


atexit.register(_stop_all)
