"""What subscribers of this driver's clients can be linked to: who joins where, who leaves, and whom the stream stops waiting for.

Aeron: Subscribable, and what PublicationImage, IpcPublication and NetworkPublication each do alike about their subscribers.
"""

from libc.stdint cimport int32_t, int64_t

from aerowire.driver.queues.events cimport (
    EVENT_MALFORMED_FRAME, EVENT_SUBSCRIBER_AVAILABLE, EVENT_SUBSCRIBER_DROPPED, EVENT_SUBSCRIBER_UNAVAILABLE, EventQueue, EventRecord)
from aerowire.driver.streams.untethered_subscriptions cimport TETHER_TETHERED, TETHER_REJOINS
from aerowire.ipc.counters cimport counter_set
from aerowire.memory.atomics cimport cas_i32, load_acquire_i32, load_acquire_i64, store_release_i32
from aerowire.protocol.untethered cimport UNTETHERED_ACTIVE, UNTETHERED_ENDED, UNTETHERED_LINGER, UNTETHERED_RESTING

cdef int[4] EVENTS = [EVENT_SUBSCRIBER_AVAILABLE, EVENT_SUBSCRIBER_UNAVAILABLE, 0, EVENT_SUBSCRIBER_DROPPED]   # by state


cdef class Subscribable:
    """A stream with local subscribers.

    Invariant: an untethered subscriber is in `subscribers` unless it rests; every other one is there and nowhere else.
    """

    cdef int set_up_subscribers(self, CountersReader counters, UntetheredTimes times) except -1:
        self._counters = counters
        self.subscribers = SubscriberPositions()
        self.untethered = UntetheredSubscriptions()
        self._untethered_times = UntetheredTimes() if times is None else times
        return 0

    cdef int64_t link_subscriber(self, int32_t counter_id, int64_t registration_id, int tether, int64_t now_ns) noexcept nogil:
        cdef int64_t* value = self._counters.value_address(counter_id)
        cdef int64_t position
        if value is NULL or not self.may_join():
            return -1
        position = self.join_position()
        counter_set(value, position)
        if tether != TETHER_TETHERED and not self.untethered.add(value, counter_id, registration_id, tether == TETHER_REJOINS, now_ns):
            return -1
        if not self.subscribers.add(value, counter_id, registration_id):
            self.untethered.remove(counter_id)
            return -1
        self.on_subscribers_changed()
        return position

    cdef bint unlink_subscriber(self, int32_t counter_id) noexcept nogil:
        cdef bint removed, rested
        self.before_leaving()
        removed = self.subscribers.remove(counter_id)
        rested = self.untethered.remove(counter_id)
        self.on_subscribers_changed()
        return removed or rested

    cdef void check_untethered(self, int64_t window_limit, int64_t now_ns, EventQueue events) noexcept nogil:
        cdef int i = self.untethered.count - 1
        while i >= 0 and self._check_one(i, load_acquire_i64(self.untethered.items[i].value) > window_limit, now_ns, events):
            i -= 1

    cdef void check_lingering(self, int64_t now_ns, EventQueue events) noexcept nogil:
        cdef int i = self.untethered.count - 1
        while i >= 0 and (self.untethered.items[i].state != UNTETHERED_LINGER or self._check_one(i, False, now_ns, events)):
            i -= 1

    cdef bint _check_one(self, int index, bint keeps_up, int64_t now_ns, EventQueue events) noexcept nogil:
        cdef UntetheredSubscription* item = &self.untethered.items[index]
        cdef int after = self._untethered_times.next_state(item.state, &item.since_ns, keeps_up, item.rejoins, now_ns)
        if after != item.state:
            if not self._carry_out(item, after, events):
                return False                        # no room to tell of it: again at the next tick
            item.state = after
            item.since_ns = now_ns
            if after == UNTETHERED_ENDED:
                self.untethered.remove_at(index)
        return True

    cdef bint _carry_out(self, UntetheredSubscription* item, int after, EventQueue events) noexcept nogil:
        cdef EventRecord* record = NULL
        if after != UNTETHERED_RESTING:
            record = events.claim(EVENTS[after], <void*>self) if events.has_timer_room() else NULL
            if record is NULL:
                return False
            record.values[0] = item.counter_id
            record.values[1] = item.registration_id
        if after == UNTETHERED_ACTIVE:
            # BEFORE it is counted: where it stopped reading is not there any more
            counter_set(item.value, self.join_position())
            record.values[2] = load_acquire_i64(item.value)
            self.subscribers.add(item.value, item.counter_id, item.registration_id)
            self.on_subscribers_changed()
        elif after != UNTETHERED_LINGER:
            self.before_leaving()
            self.subscribers.remove(item.counter_id)
            self.on_subscribers_changed()
        if record is not NULL:
            events.publish(record)                  # LAST: the counter of one that was dropped is free from here on
        return True

    cdef void on_malformed(self, int64_t position, int32_t frame_length, int32_t room) noexcept nogil:
        if load_acquire_i32(&self._malformed) == MALFORMED_NONE and cas_i32(&self._malformed, MALFORMED_NONE, MALFORMED_NOTED):
            self._malformed_position = position
            self._malformed_length = frame_length
            self._malformed_room = room
            store_release_i32(&self._malformed, MALFORMED_FOUND)

    cdef bint is_malformed(self) noexcept nogil:
        return load_acquire_i32(&self._malformed) >= MALFORMED_FOUND

    cdef bint tell_malformed(self, EventQueue events) noexcept nogil:
        cdef EventRecord* record
        if load_acquire_i32(&self._malformed) == MALFORMED_FOUND:
            record = events.claim(EVENT_MALFORMED_FRAME, <void*>self) if events.has_timer_room() else NULL
            if record is NULL:
                return False
            record.values[0] = self._malformed_position
            record.values[1] = self._malformed_length
            record.values[2] = self._malformed_room
            events.publish(record)
            store_release_i32(&self._malformed, MALFORMED_TOLD)
        return load_acquire_i32(&self._malformed) == MALFORMED_TOLD

    cdef bint may_join(self) noexcept nogil:
        return False

    cdef int64_t join_position(self) noexcept nogil:
        return 0

    cdef void before_leaving(self) noexcept nogil:
        pass

    cdef void on_subscribers_changed(self) noexcept nogil:
        pass

    def subscriber_position_ids(self) -> list:
        """Return [(counter id, registration id)] of subscribers that are waited for; only before the conductor agent has it or after it was removed."""
        return self.subscribers.ids()
