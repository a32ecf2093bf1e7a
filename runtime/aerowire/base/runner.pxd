# Runs agents in a daemon thread, which does not take the interpreter lock between start and stop if all are native, or in the caller's.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.base.idle cimport IdleStrategy
from aerowire.base.ports cimport ClockPort


cdef class NativeAgent:
    """Subclass and override. All five run on the agent's own thread."""

    cdef object __weakref__

    cdef void on_start(self) noexcept nogil
    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil     # work done; never blocks
    cdef int64_t next_deadline_ns(self) noexcept nogil                          # INT64_MAX: nothing is due
    cdef bint is_dormant(self) noexcept nogil                                   # nothing gives it work but what wakes its thread
    cdef void on_close(self) noexcept nogil


@cython.final
cdef class AgentInvoker:
    """The same duty cycle in the caller's thread: start(), invoke() -> work count, close(); next_deadline_ns()."""

    cdef list _agents
    cdef void** _native                                     # borrowed pointers, NULL for a Python agent
    cdef int _count
    cdef int _started                                       # agents whose on_start was called
    cdef ClockPort _clock
    cdef int _state
    cdef int64_t _cycles
    cdef object __weakref__

    cdef int run_once(self) noexcept nogil                  # one duty cycle at the clock's time, if all agents are native
    cdef bint is_dormant(self) noexcept nogil               # whether all are, if all are native
    cpdef int invoke_at(self, int64_t now_ns, int64_t epoch_ms) except? -1


@cython.final
cdef class AgentRunner:
    """A thread for agents: start(), stop(timeout_s), is_running."""

    cdef AgentInvoker _invoker
    cdef IdleStrategy _idle                                 # if all agents are native
    cdef object _sleep                                      # else
    cdef object _wake                                       # what ends the thread's sleep, or None
    cdef object _thread
    cdef object _thread_factory
    cdef object _begun                                      # set when on_start is over
    cdef object _cpu
    cdef object _on_start
    cdef object _on_error
    cdef str _role_name
    cdef int32_t _stop
    cdef int32_t _running
    cdef bint _forked
    cdef object __weakref__

    cdef void _loop(self) noexcept nogil
    cdef int _loop_in_python(self) except -1
    cdef int _check_fork(self) except -1
