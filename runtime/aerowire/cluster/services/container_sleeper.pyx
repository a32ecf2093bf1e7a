"""The place where a service container sleeps: without the interpreter lock, until the log or the consensus module has something for it.

It looks at memory alone: at the next frame of the log and the commit position, and at the next frame from the consensus module; where the
container does its client's work, also at how much the driver has said.
"""

from libc.stdint cimport int32_t, int64_t

from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.client.subscriptions.image cimport Image
from aerowire.codecs.native.cnc cimport BROADCAST_TRAILER_LENGTH, BROADCAST_TRAILER_TAIL_OFFSET
from aerowire.ipc.counters cimport counter_get
from aerowire.logbuffer.descriptor cimport index_by_position
from aerowire.memory.atomics cimport load_acquire_i32, load_acquire_i64, store_release_i32
from aerowire.memory.region cimport BufferView, borrow


cdef class ContainerSleeper:
    """Sleeps by an idle strategy, between whose steps it looks for work.

    Changed by: the agent's thread; any thread may `wake`.  Invariant: `_images` keeps the memory of `_frames`.
    """

    def __init__(self, IdleStrategy strategy not None, ClockPort clock not None, to_clients=None):
        """`to_clients` is the buffer of what the driver says to its clients, where that is to be looked at."""
        cdef BufferView view
        if to_clients is not None:
            self._answers_hold = borrow(to_clients, &view, False)
            self._answers = view.address + view.length - BROADCAST_TRAILER_LENGTH + BROADCAST_TRAILER_TAIL_OFFSET
        self._answers_seen = -1
        self._strategy = strategy
        self._clock = clock
        self._images = ()

    def watch(self, BoundedLogAdapter log not None, subscription not None):
        """Wake for what comes by this log, and by this subscription."""
        self._log = log
        self._subscription = subscription

    def has_news(self) -> bool:
        """Return whether something has happened that would end a sleep, or that the client is to be told. The agent's thread."""
        self._note_frames()
        return self._has_work() or self._has_unseen_answers()

    def has_answers(self) -> bool:
        """Return whether the driver has said something since `note_answers`."""
        return self._has_unseen_answers()

    def note_answers(self) -> None:
        """Take note of how much the driver has said. Call BEFORE the client looks at it."""
        if self._answers is not NULL:
            self._answers_seen = load_acquire_i64(self._answers)

    def sleep(self, int64_t timeout_ns):
        """Idle until there is work or the time is over; without time once, whatever there is."""
        cdef int64_t began_ns
        if self._wakeup is None:        # an agent without a thread never sleeps
            self._wakeup = Wakeup()
        self._note_frames()
        with nogil:
            began_ns = self._clock.nano_time()
            self._sleep(timeout_ns)
            self._slept_ns += self._clock.nano_time() - began_ns

    def take_slept_ns(self) -> int:
        """Return how long it has slept since the last call."""
        cdef int64_t slept_ns = self._slept_ns
        self._slept_ns = 0
        return slept_ns

    def wake(self):
        """Let the sleep that goes on, or the next one, end. Any thread."""
        store_release_i32(&self._woken, 1)
        if self._wakeup is not None:
            self._wakeup.wake()

    def start_over(self):
        """Idle briefly at first the next time: there was work."""
        self._strategy.reset()

    cdef int _note_frames(self) except -1:
        cdef Image image
        cdef int64_t position
        self._frame_count = 0
        if self._subscription is None or self._subscription.is_closed:
            return 0
        self._images = self._subscription.images
        for image in self._images[:CONTROL_IMAGES_MAX]:
            if image.handle_state == STATE_OPEN:
                position = counter_get(image.subscriber_position)
                self._frames[self._frame_count] = (image.log.terms[index_by_position(position, image.position_bits_to_shift)]
                                                   + <int32_t>(position & (image.term_buffer_length - 1)))
                self._frame_count += 1
        return 0

    cdef void _sleep(self, int64_t timeout_ns) noexcept nogil:
        cdef int64_t now_ns = self._clock.nano_time()
        cdef int64_t deadline_ns = now_ns + timeout_ns
        cdef int64_t rest_ns
        # What has come since the agent looked is not to wait for a park.
        while timeout_ns <= 0 or not self._has_work():
            rest_ns = self._strategy.step(0)
            if rest_ns > 0:
                self._wakeup.wait_ns_nogil(rest_ns)
                self._wakeup.forget()
            now_ns = self._clock.nano_time()
            if now_ns >= deadline_ns:
                break
        store_release_i32(&self._woken, 0)

    cdef bint _has_work(self) noexcept nogil:
        cdef int i
        if load_acquire_i32(&self._woken) or (self._log is not None and self._log.has_work()):
            return True
        for i in range(self._frame_count):
            if load_acquire_i32(self._frames[i]) > 0:
                return True
        return False

    cdef bint _has_unseen_answers(self) noexcept nogil:
        return self._answers is not NULL and load_acquire_i64(self._answers) != self._answers_seen
