"""The lives of publications and images, from active to done. They know times and facts, not logs, sockets or counters."""

from libc.stdint cimport int32_t, int64_t

cimport cython

from enum import IntEnum

from aerowire.memory.atomics cimport cas_i32, load_acquire_i32, load_relaxed_i64, store_relaxed_i64, store_release_i32


class PublicationState(IntEnum):
    """ACTIVE -> DRAINING (closed) -> LINGER (all sent and read) -> DONE; a revoked one goes from ACTIVE to LINGER."""

    ACTIVE = PUBLICATION_ACTIVE
    DRAINING = PUBLICATION_DRAINING
    LINGER = PUBLICATION_LINGER
    DONE = PUBLICATION_DONE


class ImageState(IntEnum):
    """INIT -> ACTIVE -> DRAINING (ended, silent or unwanted) -> LINGER (subscribers are told) -> DONE."""

    INIT = IMAGE_INIT
    ACTIVE = IMAGE_ACTIVE
    DRAINING = IMAGE_DRAINING
    LINGER = IMAGE_LINGER
    DONE = IMAGE_DONE


@cython.final
cdef class PublicationLifecycle:
    """Aeron: NetworkPublication.onTimeEvent, decRef; IpcPublication. Times in ns. Invariant: states only grow."""

    def __cinit__(self, *, int64_t linger_ns):
        self._linger_ns = linger_ns

    cpdef int state(self) noexcept nogil:
        """Return the state; any thread."""
        return load_acquire_i32(&self._state)

    cpdef void on_closed(self, bint revoked) noexcept nogil:
        """The last holder let go: drain, unless the end was revoked."""
        self.is_closed = True
        if not revoked and self._state == PUBLICATION_ACTIVE:
            store_release_i32(&self._state, PUBLICATION_DRAINING)

    cpdef void on_revoked(self, int64_t now_ns) noexcept nogil:
        """The publisher revoked its stream: nothing is drained."""
        if self._state == PUBLICATION_ACTIVE:
            self._changed_ns = now_ns
            store_release_i32(&self._state, PUBLICATION_LINGER)

    cpdef void on_drained(self, int64_t now_ns) noexcept nogil:
        """Everything was sent, and read by those nearby."""
        if self._state == PUBLICATION_DRAINING:
            self._changed_ns = now_ns
            store_release_i32(&self._state, PUBLICATION_LINGER)

    cpdef void on_malformed(self, int64_t now_ns) noexcept nogil:
        """A frame of the log cannot be stepped over: nothing behind it can be drained."""
        if self._state <= PUBLICATION_DRAINING:
            self._changed_ns = now_ns
            store_release_i32(&self._state, PUBLICATION_LINGER)

    cpdef bint poll_done(self, bint end_confirmed, int64_t now_ns) noexcept nogil:
        """Return True once, when the linger is over or the one receiver confirmed the end."""
        if self._state != PUBLICATION_LINGER or not self.is_closed:
            return False
        if end_confirmed or self._changed_ns + self._linger_ns - now_ns <= 0:
            store_release_i32(&self._state, PUBLICATION_DONE)
            return True
        return False


@cython.final
cdef class UnblockTimer:
    """Aeron: checkForBlockedPublisher. Times in ns, positions in bytes."""

    def __cinit__(self, *, int64_t timeout_ns, int64_t position, int64_t now_ns):
        self._timeout_ns = timeout_ns
        self._last_position = position
        self._last_moved_ns = now_ns

    cpdef bint poll_unblock(self, int64_t consumer_position, bint possibly_blocked, int64_t now_ns) noexcept nogil:
        """Return True when consumers stood at `consumer_position` with something ahead for longer than the timeout."""
        if consumer_position == self._last_position and possibly_blocked:
            return self._last_moved_ns + self._timeout_ns - now_ns < 0
        self._last_moved_ns = now_ns
        self._last_position = consumer_position
        return False


@cython.final
cdef class ImageLifecycle:
    """Aeron: PublicationImage states. Times in ns. Invariant: states only grow."""

    def __cinit__(self, *, int64_t status_message_timeout_ns, int64_t liveness_timeout_ns, int64_t now_ns):
        self._drain_ns = SM_EOS_MULTIPLE * status_message_timeout_ns
        self._liveness_ns = liveness_timeout_ns
        self._changed_ns = now_ns

    cpdef int state(self) noexcept nogil:
        """Return the state; any thread."""
        return load_acquire_i32(&self._state)

    cpdef bint activate(self, int64_t now_ns) noexcept nogil:
        """The dispatcher delivers to it from now on. Receiver."""
        return self._enter_from(IMAGE_INIT, IMAGE_ACTIVE, now_ns)

    cpdef bint drain(self, int64_t now_ns) noexcept nogil:
        """Nothing more is taken in; return False when it was past that already. Receiver or conductor agent."""
        return self._enter_from(IMAGE_ACTIVE, IMAGE_DRAINING, now_ns) or self._enter_from(IMAGE_INIT, IMAGE_DRAINING, now_ns)

    cpdef bint resume(self, int64_t now_ns) noexcept nogil:
        """Resume a stream that was draining; return False if subscribers have its end already. Receiver."""
        return self._enter_from(IMAGE_DRAINING, IMAGE_ACTIVE, now_ns)

    cpdef bint drain_time_over(self, int64_t now_ns) noexcept nogil:
        """Return True when a draining image has told the end of its stream often enough. Conductor agent."""
        return load_relaxed_i64(&self._changed_ns) + self._drain_ns - now_ns <= 0

    cpdef void linger(self, int64_t now_ns) noexcept nogil:
        """Begin to linger, in which time subscribers learn of the end. Conductor agent."""
        self._enter(IMAGE_LINGER, now_ns)

    cpdef bint linger_over(self, bint has_subscribers, int64_t now_ns) noexcept nogil:
        """Return True when no subscriber reads it any more, or the time for reading is over. Conductor agent."""
        return not has_subscribers or load_relaxed_i64(&self._changed_ns) + self._liveness_ns - now_ns <= 0

    cpdef void finish(self) noexcept nogil:
        """It is over. Conductor agent."""
        store_release_i32(&self._state, IMAGE_DONE)

    cdef bint _enter_from(self, int32_t before, int32_t after, int64_t now_ns) noexcept nogil:
        # Receiver and conductor agent may both want to, and neither may take back what the other did meanwhile.
        if load_acquire_i32(&self._state) != before:
            return False
        store_relaxed_i64(&self._changed_ns, now_ns)
        return cas_i32(&self._state, before, after)

    cdef void _enter(self, int32_t state, int64_t now_ns) noexcept nogil:
        store_relaxed_i64(&self._changed_ns, now_ns)
        store_release_i32(&self._state, state)
