"""Flow control that waits for the slowest receiver of a group: every receiver that is heard is one of it."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport free

from aerowire.codecs.native.transport cimport (
    SM_FLAGS_EOS, error_frame_receiver_id, status_message_flags, status_message_receiver_id, status_message_receiver_window)
from aerowire.ipc.counters cimport CountersReader, counter_set
from aerowire.memory.atomics cimport load_acquire_i32, store_release_i32
from aerowire.memory.growing cimport grow
from aerowire.protocol.flow_control cimport retransmission_length_of
from aerowire.protocol.receiver_liveness cimport RECEIVERS_MAX


cdef class GroupWatcher:
    """Does nothing. Aeron: AbstractMinMulticastFlowControl.receiverAdded, receiverRemoved."""

    cdef void on_receiver_added(self, int64_t receiver_id, int count) noexcept nogil:
        pass

    cdef void on_receiver_removed(self, int64_t receiver_id, int count) noexcept nogil:
        pass


cdef class MinFlowControl(FlowControl):
    """The limit is the least that a member of the group granted. Aeron: MinMulticastFlowControl, AbstractMinMulticastFlowControl.

    A receiver joins when it is the first, or at most a window behind the slowest; it leaves after `receiver_timeout_ns` of silence, or in
    the next idle cycle after it said its end or sent an error. With fewer than `group_min_size` members the limit stands still and the
    stream is not connected. When a member asks for a set-up, the limit is held for the receiver timeout, or until a receiver joined: one
    that is about to join must not be left behind.

    `receivers_counter_id` names the counter that shows how many there are, `watcher` is told who joins and leaves. Invariant: receiver ids are distinct; count <= RECEIVERS_MAX,
    beyond which receivers get data but are not waited for.
    """

    def __cinit__(self, int32_t retransmit_window_multiple, int32_t initial_window_length, *, int64_t receiver_timeout_ns,
                  int group_min_size=0, CountersReader counters=None, int32_t receivers_counter_id=-1, GroupWatcher watcher=None,
                  **others):
        if retransmit_window_multiple < 1:
            raise ValueError(f"retransmit window multiple: expected at least 1, actual {retransmit_window_multiple}")
        self._retransmit_window_multiple = retransmit_window_multiple
        self._initial_window_length = initial_window_length
        self._receiver_timeout_ns = receiver_timeout_ns
        self._group_min_size = group_min_size
        self._held_limit = NO_LIMIT_HELD
        self._satisfied = group_min_size <= 0
        self._watcher = watcher
        self._counters = counters
        if counters is not None:
            self._shown_count = counters.value_address(receivers_counter_id)
            if self._shown_count is NULL:
                raise IndexError(f"receivers counter id: expected 0 to {counters.capacity - 1}, actual {receivers_counter_id}")

    def __dealloc__(self):
        free(self._receivers)

    cdef int64_t on_status_message(self, const uint8_t* frame, int32_t frame_length, int64_t position, int64_t sender_limit,
                                   int64_t now_ns) noexcept nogil:
        cdef int32_t window = status_message_receiver_window(frame)
        cdef int64_t receiver_id = status_message_receiver_id(frame)
        cdef int64_t limit = position + window
        cdef int64_t least = self._held(now_ns)
        cdef bint is_ended = (status_message_flags(frame) & SM_FLAGS_EOS) != 0
        cdef bint is_member = self.is_member(frame)
        cdef bint is_known = False
        cdef int i
        for i in range(self._count):
            if is_member and self._receivers[i].receiver_id == receiver_id:
                self._receivers[i].ended = is_ended
                self._receivers[i].limit = limit
                self._receivers[i].last_heard_ns = now_ns
                is_known = True
            if self._receivers[i].limit < least:
                least = self._receivers[i].limit
        if is_member and not is_known and not is_ended and (self._count == 0 or limit >= least - window):
            if self._add(receiver_id, limit, now_ns) and limit < least:
                least = limit
        if self._count < self._group_min_size:
            return sender_limit
        if self._count == 0:
            least = limit
        return least if least > sender_limit else sender_limit

    cdef void on_trigger_send_setup(self, const uint8_t* frame, int32_t frame_length, int64_t now_ns) noexcept nogil:
        if not self._member_asked:
            self._member_asked = self.is_member(frame)

    cdef int64_t on_setup(self, int64_t sender_limit, int64_t sender_position, int64_t now_ns) noexcept nogil:
        if self._member_asked and self._count > 0:
            self._held_since_ns = now_ns
            self._held_limit = sender_limit
        self._member_asked = False
        return sender_limit

    cdef void on_error(self, const uint8_t* frame, int64_t now_ns) noexcept nogil:
        cdef int i
        if self.is_member_error(frame):
            for i in range(self._count):
                if self._receivers[i].receiver_id == error_frame_receiver_id(frame):
                    self._receivers[i].ended = True
                    return

    cdef int64_t on_idle(self, int64_t now_ns, int64_t sender_limit, int64_t sender_position, bint end_of_stream) noexcept nogil:
        cdef int64_t least = self._held(now_ns)
        cdef int before = self._count
        cdef int i = before - 1
        cdef int64_t gone
        while i >= 0:
            if self._receivers[i].ended or self._receivers[i].last_heard_ns + self._receiver_timeout_ns - now_ns < 0:
                gone = self._receivers[i].receiver_id
                self._count -= 1
                self._receivers[i] = self._receivers[self._count]
                if self._watcher is not None:
                    self._watcher.on_receiver_removed(gone, self._count)
            elif self._receivers[i].limit < least:
                least = self._receivers[i].limit
            i -= 1
        if self._count != before:
            self._on_count_changed()
        return sender_limit if self._count == 0 or self._count < self._group_min_size else least

    cdef bint has_required_receivers(self) noexcept nogil:
        return load_acquire_i32(&self._satisfied)

    cdef int32_t max_retransmission_length(self, int32_t term_offset, int32_t length, int32_t term_length) noexcept nogil:
        return retransmission_length_of(term_offset, length, term_length, self._retransmit_window_multiple, self._initial_window_length)

    cdef bint is_member(self, const uint8_t* status_message) noexcept nogil:
        return True

    cdef bint is_member_error(self, const uint8_t* error_frame) noexcept nogil:
        return True

    cdef bint _add(self, int64_t receiver_id, int64_t limit, int64_t now_ns) noexcept nogil:
        if self._count == self._capacity and not grow(<void**>&self._receivers, &self._capacity, sizeof(GroupReceiver), RECEIVERS_MAX):
            return False
        self._receivers[self._count].receiver_id = receiver_id
        self._receivers[self._count].limit = limit
        self._receivers[self._count].last_heard_ns = now_ns
        self._receivers[self._count].ended = False
        self._count += 1
        self._held_limit = NO_LIMIT_HELD
        self._on_count_changed()
        if self._watcher is not None:
            self._watcher.on_receiver_added(receiver_id, self._count)
        return True

    cdef void _on_count_changed(self) noexcept nogil:
        store_release_i32(&self._satisfied, self._count >= self._group_min_size)
        if self._shown_count is not NULL:
            counter_set(self._shown_count, self._count)

    cdef int64_t _held(self, int64_t now_ns) noexcept nogil:
        if self._held_limit != NO_LIMIT_HELD:
            if self._held_since_ns + self._receiver_timeout_ns - now_ns >= 0:
                return self._held_limit
            self._held_limit = NO_LIMIT_HELD
        return INT64_MAX

    @property
    def receiver_count(self) -> int:
        """Members that the sender waits for."""
        return self._count
