# Where a service container's thread sleeps until there is something to do.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.base.idle cimport IdleStrategy
from aerowire.base.ports cimport ClockPort
from aerowire.client.subscriptions.image cimport Image
from aerowire.cluster.services.log_adapter cimport BoundedLogAdapter
from aerowire.system.wakeup cimport Wakeup


cdef enum:
    CONTROL_IMAGES_MAX = 4              # of the stream to services: one consensus module, and those that it has taken the place of


@cython.final
cdef class ContainerSleeper:
    """ContainerSleeper(strategy, clock). The agent's thread, but for `wake`."""

    cdef IdleStrategy _strategy
    cdef ClockPort _clock
    cdef Wakeup _wakeup
    cdef BoundedLogAdapter _log
    cdef object _subscription           # to the consensus module
    cdef tuple _images
    cdef const uint8_t* _frames[CONTROL_IMAGES_MAX]     # where the next message of each image will begin
    cdef int _frame_count
    cdef object _answers_hold           # keeps the memory of `_answers`
    cdef const uint8_t* _answers        # how much the driver has said to its clients; NULL: it is not looked at
    cdef int64_t _answers_seen
    cdef int32_t _woken
    cdef int64_t _slept_ns

    cdef int _note_frames(self) except -1
    cdef void _sleep(self, int64_t timeout_ns) noexcept nogil
    cdef bint _has_work(self) noexcept nogil
    cdef bint _has_unseen_answers(self) noexcept nogil
