"""What a sender sends again when a receiver asks: each range once per linger time, so that many receivers cause one repair."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport calloc, free

cimport cython

IGNORED = NAK_IGNORED
RESEND = NAK_RESEND
SCHEDULED = NAK_SCHEDULED
OVERFLOW = NAK_OVERFLOW


@cython.final
cdef class RetransmitHandler:
    """A pool of actions, each inactive, delayed or lingering. Aeron: RetransmitHandler.

    on_nak and expiry move an action; of a range that is delayed or lingers nothing is sent again, and of a NAK that overlaps it only the
    rest. Aeron's handler looks at a NAK's first byte alone, and for one receiver remembers one range, so that NAKs for two ranges in turn
    are all answered. Invariant: _active counts the actions that are not inactive.
    """

    def __cinit__(self, DelayGenerator delay not None, DelayGenerator linger not None, *, bint group, int max_resend):
        if max_resend < 1:
            raise ValueError(f"max_resend: expected at least 1, actual {max_resend}")
        self._delay = delay
        self._linger = linger
        self._group = group
        self._count = max_resend if group else UNICAST_ACTIONS
        self._actions = <RetransmitAction*>calloc(self._count, sizeof(RetransmitAction))
        if self._actions is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._actions)

    cpdef int on_nak(self, int32_t term_id, int32_t term_offset, int32_t length, int64_t now_ns, bint later=False) noexcept nogil:
        """Decide about a NAK of `length` bytes; return IGNORED, RESEND (resend_* holds the range), SCHEDULED or OVERFLOW.

        Then rest_* holds what follows a part that was answered lately. `later`: what would be sent again now is for poll_resend.
        """
        cdef RetransmitAction* action
        cdef int64_t delay_ns
        cdef int32_t end = term_offset + length
        self.rest_length = 0
        if length <= 0:
            return NAK_IGNORED
        self._leave_out_answered(term_id, &term_offset, &length)
        if length <= 0:
            return NAK_IGNORED
        self.rest_offset = term_offset + length
        self.rest_length = end - self.rest_offset
        action = self._find_free(length)
        if action is NULL:
            self.rest_length = 0
            return NAK_OVERFLOW
        if action.state == RETRANSMIT_INACTIVE:
            self._active += 1
        action.term_id = term_id
        action.term_offset = term_offset
        action.length = length
        delay_ns = self._delay.generate_delay_ns()
        if delay_ns == 0 and not later:
            self._ask(action, now_ns)
            return NAK_RESEND
        action.state = RETRANSMIT_DELAYED
        action.expiry_ns = now_ns + delay_ns if delay_ns else now_ns - 1      # poll_resend takes what expired before its time
        return NAK_SCHEDULED

    cpdef bint poll_resend(self, int64_t now_ns) noexcept nogil:
        """Return True when resend_* holds a range whose delay is over; call again until False. Ends lingering ranges."""
        cdef int i
        cdef RetransmitAction* action
        if self._active == 0:
            return False
        for i in range(self._count):
            action = &self._actions[i]
            if action.state == RETRANSMIT_INACTIVE or action.expiry_ns - now_ns >= 0:
                continue
            if action.state == RETRANSMIT_DELAYED:
                self._ask(action, now_ns)
                return True
            action.state = RETRANSMIT_INACTIVE
            self._active -= 1
        return False

    cpdef int64_t next_deadline_ns(self) noexcept nogil:
        """Return when poll_resend has something to do, INT64_MAX for never."""
        cdef int i
        cdef int64_t deadline = INT64_MAX
        if self._active:
            for i in range(self._count):
                if self._actions[i].state != RETRANSMIT_INACTIVE and self._actions[i].expiry_ns < deadline:
                    deadline = self._actions[i].expiry_ns
        return deadline

    @property
    def active_count(self):
        """Actions that are delayed or lingering."""
        return self._active

    cdef void _ask(self, RetransmitAction* action, int64_t now_ns) noexcept nogil:
        self.resend_term_id = action.term_id
        self.resend_term_offset = action.term_offset
        self.resend_length = action.length
        action.state = RETRANSMIT_LINGERING
        action.expiry_ns = now_ns + self._linger.generate_delay_ns()

    cdef void _leave_out_answered(self, int32_t term_id, int32_t* term_offset, int32_t* length) noexcept nogil:
        # The first part of the range that no action covers.
        cdef int32_t begin = term_offset[0]
        cdef int32_t end = begin + length[0]
        cdef RetransmitAction* action
        cdef bint moved = self._active > 0
        cdef int i
        while moved and begin < end:
            moved = False
            for i in range(self._count):
                action = &self._actions[i]
                if (action.state != RETRANSMIT_INACTIVE and action.term_id == term_id
                        and action.term_offset <= begin < action.term_offset + action.length):
                    begin = action.term_offset + action.length
                    moved = True
        for i in range(self._count):
            action = &self._actions[i]
            if action.state != RETRANSMIT_INACTIVE and action.term_id == term_id and begin < action.term_offset < end:
                end = action.term_offset
        term_offset[0] = begin
        length[0] = end - begin

    cdef RetransmitAction* _find_free(self, int32_t length) noexcept nogil:
        cdef RetransmitAction* oldest = NULL
        cdef int i
        for i in range(self._count):
            if self._actions[i].state == RETRANSMIT_INACTIVE:
                return &self._actions[i]
            # What is delayed has not been sent yet.
            if self._actions[i].state == RETRANSMIT_LINGERING and (oldest is NULL or self._actions[i].expiry_ns < oldest.expiry_ns):
                oldest = &self._actions[i]
        return NULL if self._group or length > UNREMEMBERED_LENGTH_MAX else oldest
