# What subscribers of this driver's clients can be linked to: an image, or a publication.

from libc.stdint cimport int32_t, int64_t
from aerowire.driver.queues.events cimport EventQueue
from aerowire.driver.streams.subscriber_positions cimport SubscriberPositions
from aerowire.driver.streams.untethered_subscriptions cimport UntetheredSubscription, UntetheredSubscriptions
from aerowire.ipc.counters cimport CountersReader
from aerowire.protocol.untethered cimport UntetheredTimes


cdef enum:
    MALFORMED_NONE = 0
    MALFORMED_NOTED = 1                 # being written
    MALFORMED_FOUND = 2
    MALFORMED_TOLD = 3


cdef class Subscribable:
    """Changed by the conductor agent's thread only."""

    cdef CountersReader _counters
    cdef SubscriberPositions subscribers
    cdef UntetheredSubscriptions untethered
    cdef UntetheredTimes _untethered_times
    # a frame of its log that cannot be stepped over: found by one of its agents, told by the conductor agent
    cdef int32_t _malformed
    cdef int32_t _malformed_length
    cdef int32_t _malformed_room
    cdef int64_t _malformed_position

    cdef int set_up_subscribers(self, CountersReader counters, UntetheredTimes times) except -1
    # The position at which a subscriber joins, stored in its counter; -1 when none may join any more.
    cdef int64_t link_subscriber(self, int32_t counter_id, int64_t registration_id, int tether, int64_t now_ns) noexcept nogil
    cdef bint unlink_subscriber(self, int32_t counter_id) noexcept nogil
    # Let go of untethered subscribers at or behind `window_limit`, and take back those that have rested. Once a timer interval.
    cdef void check_untethered(self, int64_t window_limit, int64_t now_ns, EventQueue events) noexcept nogil
    # End the linger of untethered subscribers that have lost a draining stream: their clients read no further.
    cdef void check_lingering(self, int64_t now_ns, EventQueue events) noexcept nogil
    # Note the first frame that cannot be stepped over or, with the bytes that it had room in, that overlaps others. Any agent.
    cdef void on_malformed(self, int64_t position, int32_t frame_length, int32_t room) noexcept nogil
    cdef bint is_malformed(self) noexcept nogil
    # Post the frame once; False: not told yet, because there was no room.
    cdef bint tell_malformed(self, EventQueue events) noexcept nogil
    # what subclasses say and hear
    cdef bint may_join(self) noexcept nogil
    cdef int64_t join_position(self) noexcept nogil
    cdef void before_leaving(self) noexcept nogil               # somebody is about to leave, or to be let go
    cdef void on_subscribers_changed(self) noexcept nogil
    # private
    cdef bint _check_one(self, int index, bint keeps_up, int64_t now_ns, EventQueue events) noexcept nogil
    cdef bint _carry_out(self, UntetheredSubscription* item, int after, EventQueue events) noexcept nogil
