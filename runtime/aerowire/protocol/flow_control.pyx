"""How far a sender may send. Strategies for groups subclass FlowControl; unicast takes what its one receiver grants."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.codecs.native.transport cimport STATUS_MESSAGE_LENGTH, status_message_receiver_window, status_message_set_receiver_window


cdef class FlowControl:
    """The questions that a sender asks; the base grants nothing and requires no receivers."""

    cdef int64_t on_status_message(self, const uint8_t* frame, int32_t frame_length, int64_t position, int64_t sender_limit,
                                   int64_t now_ns) noexcept nogil:
        return sender_limit

    cdef void on_trigger_send_setup(self, const uint8_t* frame, int32_t frame_length, int64_t now_ns) noexcept nogil:
        pass

    cdef int64_t on_setup(self, int64_t sender_limit, int64_t sender_position, int64_t now_ns) noexcept nogil:
        return sender_limit

    cdef void on_error(self, int64_t receiver_id, int64_t now_ns) noexcept nogil:
        pass

    cdef int64_t on_idle(self, int64_t now_ns, int64_t sender_limit, int64_t sender_position, bint end_of_stream) noexcept nogil:
        return sender_limit

    cdef bint has_required_receivers(self) noexcept nogil:
        return True

    cdef int32_t max_retransmission_length(self, int32_t term_offset, int32_t length, int32_t term_length) noexcept nogil:
        return length if length < term_length - term_offset else term_length - term_offset


cdef class UnicastFlowControl(FlowControl):
    """The limit is the highest that the receiver ever granted. Aeron: UnicastFlowControl.

    A retransmission is at most `retransmit_window_multiple` receiver windows long and ends with the term; `initial_window_length`
    (bytes) is what a receiver's window is assumed to be.
    """

    def __cinit__(self, int32_t retransmit_window_multiple, int32_t initial_window_length):
        if retransmit_window_multiple < 1:
            raise ValueError(f"retransmit window multiple: expected at least 1, actual {retransmit_window_multiple}")
        self._retransmit_window_multiple = retransmit_window_multiple
        self._initial_window_length = initial_window_length

    cdef int64_t on_status_message(self, const uint8_t* frame, int32_t frame_length, int64_t position, int64_t sender_limit,
                                   int64_t now_ns) noexcept nogil:
        cdef int64_t limit = position + status_message_receiver_window(frame)
        return limit if limit > sender_limit else sender_limit

    cdef int32_t max_retransmission_length(self, int32_t term_offset, int32_t length, int32_t term_length) noexcept nogil:
        cdef int64_t longest = <int64_t>receiver_window_length(term_length, self._initial_window_length) * self._retransmit_window_multiple
        if term_length - term_offset < longest:
            longest = term_length - term_offset
        return length if length < longest else <int32_t>longest

    def limit_after(self, int64_t position, int32_t window, int64_t sender_limit) -> int:
        """Return the sender limit after a status message for `position` that grants `window` bytes."""
        cdef uint8_t frame[STATUS_MESSAGE_LENGTH]
        status_message_set_receiver_window(frame, window)
        return self.on_status_message(frame, STATUS_MESSAGE_LENGTH, position, sender_limit, 0)

    def retransmission_length(self, int32_t term_offset, int32_t length, int32_t term_length) -> int:
        """Return how many of `length` bytes at `term_offset` one NAK may have sent again."""
        return self.max_retransmission_length(term_offset, length, term_length)
