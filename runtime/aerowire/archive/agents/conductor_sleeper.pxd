# Where the archive's conductor sleeps until there is something to do.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.archive.agents.agent_events cimport AgentEvents
from aerowire.archive.agents.position_answers cimport PositionAnswers
from aerowire.base.idle cimport IdleStrategy
from aerowire.base.ports cimport ClockPort


cdef struct WatchedImage:
    int32_t* state              # of the image's handle
    const uint8_t* frame        # where its next message will begin
    void* image


@cython.final
cdef class ConductorSleeper:
    """ConductorSleeper(strategy, clock, events, to_clients, positions=None). The conductor's thread, but for `wake`."""

    cdef IdleStrategy _strategy
    cdef IdleStrategy _yielding
    cdef bint _parks_longer             # from one step to the next
    cdef int64_t _quiet_since_ns        # when there was work
    cdef bint _awaits_answer            # what the last work has led to
    cdef ClockPort _clock
    cdef AgentEvents _events
    cdef PositionAnswers _positions     # None: there are none
    cdef object _answers_hold
    cdef const uint8_t* _answers        # how much the driver has said
    cdef int64_t _answers_seen
    cdef tuple _images
    cdef WatchedImage* _watched         # one of each image
    cdef int _watched_count
    cdef int32_t _woken
    cdef bint _is_precise               # the thread's sleeps end in time
    cdef int64_t _slept_ns

    cdef int _note_frames(self) except -1
    cdef void _sleep(self, int64_t timeout_ns) noexcept nogil
    cdef void _rest(self, int64_t now_ns, int steps) noexcept nogil
    cdef bint _has_work(self) noexcept nogil
    cdef void _answer_requests(self, int64_t timeout_ns) noexcept nogil
    cdef bint _answer_request(self, WatchedImage* watched) noexcept nogil
