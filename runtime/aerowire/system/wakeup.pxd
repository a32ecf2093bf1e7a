# One bit between a native thread and a sleeping Python thread: an eventfd (a pipe where there is none).

cimport cython
from libc.stdint cimport int64_t
from aerowire.base.ports cimport WakeupPort


@cython.final
cdef class Wakeup(WakeupPort):
    """signal() from any thread, GIL or not; wait(timeout_s) -> bool and drain() in the sleeper; fileno() for selectors."""

    cdef int _read_fd
    cdef int _write_fd

    cdef bint wait_nogil(self, int timeout_ms) noexcept nogil
    cdef bint wait_ns_nogil(self, int64_t timeout_ns) noexcept nogil    # as precise as the system's timers
    cdef bint forget(self) noexcept nogil               # drain(), for a sleeper that is a native thread

    cdef int _check_open(self) except -1
