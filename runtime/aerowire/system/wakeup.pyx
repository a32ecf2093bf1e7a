"""Wakes a sleeping Python thread from a native one: one bit, over an eventfd or a pipe.

The signaller posts its event BEFORE it signals; the sleeper drains BEFORE it looks for events.  So none is missed.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint64_t

import os

from aerowire.base.errors import ClosedError
from aerowire.memory.atomics cimport exchange_i32

cdef extern from "<unistd.h>" nogil:
    long write(int fd, const void* buffer, size_t length)
    long read(int fd, void* buffer, size_t length)
    int c_close "close"(int fd)

cdef extern from "<poll.h>" nogil:
    cdef struct pollfd:
        int fd
        short events
        short revents
    int c_poll "poll"(pollfd* descriptors, unsigned long count, int timeout_ms)
    int POLLIN

cdef extern from *:
    """
    #ifdef __linux__
    #include <poll.h>
    #include <time.h>
    static inline int aw_poll_ns(struct pollfd *descriptor, int64_t timeout_ns)
    {
        struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
        return ppoll(descriptor, 1, &timeout, 0);
    }
    #else
    static inline int aw_poll_ns(struct pollfd *descriptor, int64_t timeout_ns)
    { return poll(descriptor, 1, (int)((timeout_ns + 999999) / 1000000)); }
    #endif
    """
    int aw_poll_ns(pollfd* descriptor, int64_t timeout_ns) nogil

cdef enum:
    SLICE_MS = 50       # longest sleep between looks at pending signals (Ctrl-C)


cdef class Wakeup(WakeupPort):
    """Invariant: while signal_bit is 1 the descriptor is readable, but for the moments between the two steps of signal() and of drain()."""

    def __init__(self):
        self._read_fd = -1
        self._write_fd = -1
        if hasattr(os, "eventfd"):
            self._read_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            self._write_fd = self._read_fd
        else:
            self._read_fd, self._write_fd = os.pipe()
            os.set_blocking(self._read_fd, False)
            os.set_blocking(self._write_fd, False)

    cdef void signal(self) noexcept nogil:
        cdef uint64_t one = 1
        if exchange_i32(&self.signal_bit, 1) == 0:
            write(self._write_fd, &one, sizeof(one))

    cdef bint wait_nogil(self, int timeout_ms) noexcept nogil:
        cdef pollfd descriptor
        descriptor.fd = self._read_fd
        descriptor.events = POLLIN
        descriptor.revents = 0
        return c_poll(&descriptor, 1, timeout_ms) > 0

    cdef bint wait_ns_nogil(self, int64_t timeout_ns) noexcept nogil:
        cdef pollfd descriptor
        descriptor.fd = self._read_fd
        descriptor.events = POLLIN
        descriptor.revents = 0
        return aw_poll_ns(&descriptor, timeout_ns) > 0

    cdef bint forget(self) noexcept nogil:
        # The descriptor is emptied FIRST: a signal in between finds the bit still set and is forgotten with it, and its event is
        # found by the look that follows. The other way round the bit could stay set over an empty descriptor, and wake nobody again.
        cdef uint64_t buffer[8]
        read(self._read_fd, buffer, sizeof(buffer))
        return exchange_i32(&self.signal_bit, 0) != 0

    def wake(self) -> None:
        """Wake the sleeper."""
        self._check_open()
        self.signal()

    def wait(self, timeout_s=None) -> bool:
        """Sleep until signalled or timed out; True when signalled. Does not drain. Checks for Ctrl-C every 50 ms."""
        cdef int remaining_ms = -1 if timeout_s is None else max(0, round(timeout_s * 1000))
        cdef int slice_ms
        cdef bint signalled
        self._check_open()
        while True:
            slice_ms = SLICE_MS if remaining_ms < 0 else min(remaining_ms, <int>SLICE_MS)
            with nogil:
                signalled = self.wait_nogil(slice_ms)
            PyErr_CheckSignals()
            if signalled:
                return True
            if remaining_ms >= 0:
                remaining_ms -= slice_ms
                if remaining_ms <= 0:
                    return False

    def sleep(self, int64_t timeout_ns) -> None:
        """Sleep until signalled, at most `timeout_ns`, and forget the signal."""
        self.wait(timeout_ns / 1e9)
        self.drain()

    def drain(self) -> bool:
        """Forget the signal; True when there was one. Look for events AFTER this."""
        self._check_open()
        return self.forget()

    def fileno(self) -> int:
        """Descriptor that is readable while signalled; for selectors and event loops."""
        self._check_open()
        return self._read_fd

    @property
    def closed(self) -> bool:
        return self._read_fd < 0

    def close(self) -> None:
        """Close the descriptors. Not while a thread may signal. Idempotent."""
        if self._read_fd >= 0:
            os.close(self._read_fd)
            if self._write_fd != self._read_fd:
                os.close(self._write_fd)
        self._read_fd = -1
        self._write_fd = -1

    cdef int _check_open(self) except -1:
        if self._read_fd < 0:
            raise ClosedError("wake-up is closed", where="Wakeup", expected="an open one")
        return 0

    def __dealloc__(self):
        if self._read_fd >= 0:
            c_close(self._read_fd)
            if self._write_fd != self._read_fd:
                c_close(self._write_fd)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()
