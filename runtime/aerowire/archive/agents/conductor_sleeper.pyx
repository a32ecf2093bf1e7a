"""The place where the archive's conductor sleeps: without the interpreter lock, until one of the things happens that give it work.

It looks at memory alone: at what the agents have queued, at how much the driver has said, and at the frames that come next in the images
of the control channels. So an archive that has nothing to do runs no Python, nor does one whose clients ask for nothing but positions.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from aerowire.base.idle import BackoffIdleStrategy, YieldingIdleStrategy

from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.client.subscriptions.image cimport Image
from aerowire.codecs.native.cnc cimport BROADCAST_TRAILER_LENGTH, BROADCAST_TRAILER_TAIL_OFFSET
from aerowire.ipc.counters cimport counter_get, counter_set
from aerowire.logbuffer.descriptor cimport index_by_position
from aerowire.logbuffer.frame cimport frame_length_acquire, frame_step
from aerowire.memory.atomics cimport load_acquire_i32, load_acquire_i64, store_release_i32
from aerowire.memory.region cimport BufferView, borrow
from aerowire.system.thread_rest cimport aw_precise_sleep

cdef enum:
    # A park that doubles lasts as long as the time before it: a request would wait as long again as its client took to ask. An eighth of
    # that time costs some 50 looks more until parks are a millisecond long.
    QUIET_SHARE = 8
    PARK_MIN_NS = 1000
    # An answer of the driver or of an agent comes soon, and a park would outlast it: the official archive yields until it is there.
    ANSWER_YIELDS_NS = 1000000
    # A cycle of the conductor's takes as long as some of a native agent's: a strategy that parks after many is asked several times each.
    STEPS_PER_CYCLE = 8
    # Requests of one image that are answered before the other images, and the reasons to wake the conductor, are looked at.
    ANSWERS_PER_LOOK = 16


cdef class ConductorSleeper:
    """Sleeps by an idle strategy, between whose steps it looks for work; an event of an agent ends a step.

    Parks that a strategy makes longer and longer are shorter than it says at first: an eighth of the time without work.

    Changed by: the conductor's thread; any thread may `wake`.  Invariant: each of `_watched` is of the image in the same place of `_images`,
    which keeps its memory.
    """

    def __init__(self, IdleStrategy strategy not None, ClockPort clock not None, AgentEvents events not None, to_clients,
                 PositionAnswers positions=None):
        """`to_clients` is the buffer of what the driver says to its clients; `positions` answers requests without ending the sleep."""
        cdef BufferView view
        self._answers_hold = borrow(to_clients, &view, False)
        self._answers = view.address + view.length - BROADCAST_TRAILER_LENGTH + BROADCAST_TRAILER_TAIL_OFFSET
        self._answers_seen = -1
        self._strategy = strategy
        self._yielding = YieldingIdleStrategy()
        self._parks_longer = isinstance(strategy, BackoffIdleStrategy)
        self._clock = clock
        self._events = events
        self._positions = positions
        self._images = ()

    def __dealloc__(self):
        free(self._watched)

    def watch(self, images):
        """Wake for what comes by these images, and no others."""
        images = tuple(images)
        cdef WatchedImage* watched = <WatchedImage*>calloc(max(1, len(images)), sizeof(WatchedImage))
        if watched is NULL:
            raise MemoryError("watched images")
        free(self._watched)
        self._watched = watched
        self._watched_count = <int>len(images)
        self._images = images

    def has_answers(self) -> bool:
        """Return whether the driver has said something since the last call. Ask BEFORE the client looks at it."""
        cdef int64_t tail = load_acquire_i64(self._answers)
        cdef bint is_new = tail != self._answers_seen
        self._answers_seen = tail
        return is_new

    def has_news(self) -> bool:
        """Return whether something has happened that would end a sleep. The conductor's thread."""
        self._note_frames()
        return self._has_work()

    def sleep(self, int64_t timeout_ns):
        """Idle until there is work or the time is over; without time once, whatever there is."""
        cdef int64_t began_ns
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
        self._events.signal()

    def start_over(self, *, bint awaits_answer=False):
        """Idle briefly at first the next time: there was work. Where it leads to an answer of the driver or an agent, offer the processor to
        others for a while rather than park."""
        self._strategy.reset()
        self._awaits_answer = awaits_answer
        self._quiet_since_ns = self._clock.nano_time()

    cdef int _note_frames(self) except -1:
        cdef Image image
        cdef int i
        for i in range(self._watched_count):
            image = self._images[i]
            self._watched[i].image = <void*>image
            self._watched[i].state = &image.handle_state
            self._watched[i].frame = NULL
            if image.handle_state == STATE_OPEN:
                self._watched[i].frame = frame_at(image, counter_get(image.subscriber_position))
        return 0

    cdef void _sleep(self, int64_t timeout_ns) noexcept nogil:
        cdef int64_t now_ns = self._clock.nano_time()
        cdef int64_t deadline_ns = now_ns + timeout_ns
        if self._parks_longer and not self._is_precise:     # a strategy of short sleeps would take most of a processor
            aw_precise_sleep()
            self._is_precise = True
        # What has come since the conductor looked is not to wait for a park.
        self._answer_requests(timeout_ns)
        while timeout_ns <= 0 or not self._has_work():
            self._rest(now_ns, STEPS_PER_CYCLE if timeout_ns <= 0 else 1)
            now_ns = self._clock.nano_time()
            if now_ns >= deadline_ns:
                break
            self._answer_requests(timeout_ns)
        store_release_i32(&self._woken, 0)

    cdef void _rest(self, int64_t now_ns, int steps) noexcept nogil:
        cdef int64_t quiet_ns = now_ns - self._quiet_since_ns
        cdef int64_t rest_ns = 0
        if not self._parks_longer:
            rest_ns = self._strategy.step(0)
        elif self._awaits_answer and quiet_ns < ANSWER_YIELDS_NS:
            self._yielding.step(0)
        else:
            while rest_ns == 0 and steps > 0:
                rest_ns = min(self._strategy.step(0), max(quiet_ns // QUIET_SHARE, <int64_t>PARK_MIN_NS))
                steps -= 1
        if rest_ns > 0:
            self._events.rest(rest_ns)

    cdef void _answer_requests(self, int64_t timeout_ns) noexcept nogil:
        # A conductor that has no time to sleep has work that may be a response which is to go first.
        cdef int i, count
        if self._positions is None or timeout_ns <= 0:
            return
        for i in range(self._watched_count):
            count = 0
            while count < ANSWERS_PER_LOOK and self._answer_request(&self._watched[i]):
                count += 1
            if count > 0:
                self._strategy.reset()
                self._quiet_since_ns = self._clock.nano_time()

    cdef bint _answer_request(self, WatchedImage* watched) noexcept nogil:
        cdef int32_t length, step
        cdef int64_t position
        if watched.frame is NULL or load_acquire_i32(watched.state) != STATE_OPEN:
            return False
        length = frame_length_acquire(watched.frame)
        position = counter_get((<Image>watched.image).subscriber_position)
        step = frame_step(length, room_at(<Image>watched.image, position))
        if step <= 0 or not self._positions.answer(watched.image, watched.frame, length):
            return False
        counter_set((<Image>watched.image).subscriber_position, position + step)
        watched.frame = frame_at(<Image>watched.image, position + step)
        return True

    cdef bint _has_work(self) noexcept nogil:
        cdef int i
        if load_acquire_i32(&self._woken) or self._events.has_event() or load_acquire_i64(self._answers) != self._answers_seen:
            return True
        for i in range(self._watched_count):
            if self._watched[i].frame is not NULL:
                # The conductor has to forget an image that has gone.
                if load_acquire_i32(self._watched[i].state) != STATE_OPEN or load_acquire_i32(self._watched[i].frame) > 0:
                    return True
        return False


cdef inline const uint8_t* frame_at(Image image, int64_t position) noexcept nogil:
    return (image.log.terms[index_by_position(position, image.position_bits_to_shift)]
            + <int32_t>(position & (image.term_buffer_length - 1)))


cdef inline int32_t room_at(Image image, int64_t position) noexcept nogil:
    return image.term_buffer_length - <int32_t>(position & (image.term_buffer_length - 1))
