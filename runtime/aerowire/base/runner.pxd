# Runs native agents in a daemon thread that never takes the interpreter lock between start and stop, or in the caller's.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.base.idle cimport IdleStrategy
from aerowire.base.ports cimport ClockPort


cdef class NativeAgent:
    """Subclass and override. All four run on the agent's own thread."""

    cdef object __weakref__

    cdef void on_start(self) noexcept nogil
    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil     # work done; never blocks
    cdef int64_t next_deadline_ns(self) noexcept nogil                          # INT64_MAX: nothing is due
    cdef void on_close(self) noexcept nogil


@cython.final
cdef class AgentInvoker:
    """The same duty cycle in the caller's thread: start(), invoke() -> work count, close(); next_deadline_ns()."""

    cdef list _agents
    cdef void** _native                                     # borrowed NativeAgent pointers
    cdef int _count
    cdef ClockPort _clock
    cdef int _state
    cdef int64_t _cycles
    cdef object __weakref__

    cdef int run_once(self) noexcept nogil                  # one duty cycle of all agents at the clock's time
    cdef int run_at(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil
    cdef void _start_all(self) noexcept nogil
    cdef void _close_all(self) noexcept nogil
    cdef int64_t _next_deadline(self) noexcept nogil


@cython.final
cdef class AgentRunner:
    """AgentRunner(agents, clock, idle, *, role_name=None, cpu=None, on_start=None): start(), stop(timeout_s), is_running; stopped at exit."""

    cdef AgentInvoker _invoker
    cdef IdleStrategy _idle
    cdef object _thread
    cdef object _cpu
    cdef object _on_start
    cdef str _role_name
    cdef int32_t _stop
    cdef int32_t _running
    cdef bint _forked
    cdef object __weakref__

    cdef void _loop(self) noexcept nogil
    cdef int _check_fork(self) except -1
