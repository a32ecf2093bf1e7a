"""Runs native agents: in a daemon thread that does not take the interpreter lock between start and stop, or in the caller's.

Knows agents, a clock and an idle strategy; nothing of what the agents do.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport calloc, free

import atexit
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
NATIVE_NAME_LENGTH_MAX = 15 # of a thread, in octets: the kernel's limit

cdef enum State:
    STATE_NEW = 0
    STATE_STARTED = 1
    STATE_CLOSED = 2


cdef class NativeAgent:
    """A role with a native duty cycle.  Subclasses override; all methods run on the agent's own thread."""

    cdef void on_start(self) noexcept nogil:
        pass

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        return 0

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        return INT64_MAX

    cdef void on_close(self) noexcept nogil:
        pass

    @property
    def role_name(self) -> str:
        """Name for threads, counters and errors."""
        return type(self).__name__


cdef class AgentInvoker:
    """The duty cycle of several agents in the caller's thread, in the order given.

    Invariant: agents are started at most once and closed at most once, and closed only after they were started.
    """

    def __init__(self, agents, ClockPort clock not None):
        cdef NativeAgent agent
        self._agents = list(agents)
        self._count = <int>len(self._agents)
        self._native = <void**>calloc(max(1, self._count), sizeof(void*))
        if self._native == NULL:
            raise MemoryError("agent table")
        for index, agent in enumerate(self._agents):
            self._native[<int>index] = <void*>agent
        self._clock = clock

    def __dealloc__(self):
        free(self._native)

    cdef int run_once(self) noexcept nogil:
        return self.run_at(self._clock.nano_time(), self._clock.epoch_ms())

    cdef int run_at(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int work = 0
        cdef int index
        store_relaxed_i64(&self._cycles, self._cycles + 1)
        for index in range(self._count):
            work += (<NativeAgent>self._native[index]).do_work(now_ns, epoch_ms)
        return work

    cdef void _start_all(self) noexcept nogil:
        cdef int index
        self._state = STATE_STARTED
        for index in range(self._count):
            (<NativeAgent>self._native[index]).on_start()

    cdef void _close_all(self) noexcept nogil:
        cdef int index
        self._state = STATE_CLOSED
        for index in range(self._count):
            (<NativeAgent>self._native[index]).on_close()

    cdef int64_t _next_deadline(self) noexcept nogil:
        cdef int64_t deadline = INT64_MAX
        cdef int64_t one
        cdef int index
        for index in range(self._count):
            one = (<NativeAgent>self._native[index]).next_deadline_ns()
            if one < deadline:
                deadline = one
        return deadline

    def start(self):
        """Run every agent's on_start; once."""
        if self._state == STATE_NEW:
            with nogil:
                self._start_all()

    def invoke(self) -> int:
        """Run one duty cycle; return the work done, 0 before start() and after close()."""
        cdef int work = 0
        if self._state == STATE_STARTED:
            with nogil:
                work = self.run_once()
        return work

    def invoke_at(self, int64_t now_ns, int64_t epoch_ms) -> int:
        """Run one duty cycle at a literal time, as the simulator does."""
        cdef int work = 0
        if self._state == STATE_STARTED:
            with nogil:
                work = self.run_at(now_ns, epoch_ms)
        return work

    def next_deadline_ns(self) -> int:
        """Earliest deadline of all agents."""
        return self._next_deadline()

    def close(self):
        """Run every agent's on_close, if they were started; once."""
        if self._state == STATE_STARTED:
            with nogil:
                self._close_all()
        self._state = STATE_CLOSED

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
    """One daemon thread that runs agents without the interpreter lock until told to stop.

    Changed by: start() and stop(), from any other thread.  `role_name` is the thread's name, `cpu` pins it.  `on_start(role_name)` is
    called on it before the agents begin; what it raises ends the thread.  Stopped at interpreter exit.
    """

    def __init__(self, agents, ClockPort clock not None, IdleStrategy idle not None, *, role_name=None, cpu=None, on_start=None):
        self._invoker = agents if isinstance(agents, AgentInvoker) else AgentInvoker(agents, clock)
        self._idle = idle
        self._cpu = cpu
        self._on_start = on_start
        self._role_name = role_name or self._invoker.role_name

    def start(self):
        """Start the thread; return when the agents have begun.  Once."""
        self._check_fork()
        if self._thread is not None:
            raise AerowireError("agent runner was already started", where=self._role_name, expected="one start", actual="another",
                                hint="make another runner")
        begun = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(begun,), name=self._role_name, daemon=True)
        _running.add(self)
        poison(self)
        self._thread.start()
        begun.wait()
        return self

    def _run(self, begun):
        name_thread(self._role_name)
        if self._cpu is not None:
            try:
                os.sched_setaffinity(0, {self._cpu})
            except (OSError, AttributeError):
                pass    # a processor that is not there for us is no reason not to run
        try:
            if self._on_start is not None:
                on_start, self._on_start = self._on_start, None     # whose it is may go before the thread does
                on_start(self._role_name)
                del on_start
            store_release_i32(&self._running, 1)
        finally:
            begun.set()
        del begun
        with nogil:
            self._loop()
        store_release_i32(&self._running, 0)

    cdef void _loop(self) noexcept nogil:
        self._invoker._start_all()
        while load_acquire_i32(&self._stop) == 0:
            self._idle.idle(self._invoker.run_once())
        self._invoker._close_all()

    def stop(self, timeout_s=None) -> bool:
        """Ask the thread to end and wait for it; True when it has ended.  Idempotent."""
        self._check_fork()
        store_release_i32(&self._stop, 1)
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return thread is None
        thread.join(timeout_s)
        if thread.is_alive():
            return False
        _running.discard(self)
        return True

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
