"""How far a sender may send: what every strategy answers, and the two that know no receivers apart. See min_flow_control, tagged_flow_control."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.codecs.native.transport cimport (
    ERROR_FRAME_LENGTH, STATUS_MESSAGE_LENGTH, status_message_frame_length, status_message_receiver_window)


cdef class FlowControl:
    """The questions that a sender asks; the base grants nothing and requires no receivers."""

    cdef int64_t on_status_message(self, const uint8_t* frame, int32_t frame_length, int64_t position, int64_t sender_limit,
                                   int64_t now_ns) noexcept nogil:
        return sender_limit

    cdef void on_trigger_send_setup(self, const uint8_t* frame, int32_t frame_length, int64_t now_ns) noexcept nogil:
        pass

    cdef int64_t on_setup(self, int64_t sender_limit, int64_t sender_position, int64_t now_ns) noexcept nogil:
        return sender_limit

    cdef void on_error(self, const uint8_t* frame, int64_t now_ns) noexcept nogil:
        pass

    cdef int64_t on_idle(self, int64_t now_ns, int64_t sender_limit, int64_t sender_position, bint end_of_stream) noexcept nogil:
        return sender_limit

    cdef bint has_required_receivers(self) noexcept nogil:
        return True

    cdef int32_t max_retransmission_length(self, int32_t term_offset, int32_t length, int32_t term_length) noexcept nogil:
        return length if length < term_length - term_offset else term_length - term_offset

    # ---- for tests with literal times and bytes

    def limit_after_status_message(self, bytes frame not None, int64_t position, int64_t sender_limit, int64_t now_ns) -> int:
        """Take a status message for `position`; return the new sender limit."""
        return self.on_status_message(_status_message(frame), <int32_t>len(frame), position, sender_limit, now_ns)

    def apply_setup_request(self, bytes frame not None, int64_t now_ns) -> None:
        """Take a status message that asks for a set-up."""
        self.on_trigger_send_setup(_status_message(frame), <int32_t>len(frame), now_ns)

    def limit_after_setup(self, int64_t sender_limit, int64_t sender_position, int64_t now_ns) -> int:
        """Note that a set-up which was asked for goes out; return the new sender limit."""
        return self.on_setup(sender_limit, sender_position, now_ns)

    def apply_error(self, bytes frame not None, int64_t now_ns) -> None:
        """Take a receiver's error frame."""
        if len(frame) < ERROR_FRAME_LENGTH:
            raise ValueError(f"error frame: expected at least {ERROR_FRAME_LENGTH} bytes, actual {len(frame)}")
        self.on_error(<const uint8_t*><const char*>frame, now_ns)

    def limit_when_idle(self, int64_t now_ns, int64_t sender_limit, int64_t sender_position) -> int:
        """Return the sender limit of a cycle in which nothing was sent."""
        return self.on_idle(now_ns, sender_limit, sender_position, False)

    @property
    def is_satisfied(self) -> bool:
        """Whether the receivers that a stream needs to be connected are there."""
        return self.has_required_receivers()

    def retransmission_length(self, int32_t term_offset, int32_t length, int32_t term_length) -> int:
        """Return how many of `length` bytes at `term_offset` one NAK may have sent again."""
        return self.max_retransmission_length(term_offset, length, term_length)


cdef class MaxFlowControl(FlowControl):
    """The limit is the highest that any receiver ever granted, and nobody is told apart. Aeron: MaxMulticastFlowControl.

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
        return retransmission_length_of(term_offset, length, term_length, self._retransmit_window_multiple, self._initial_window_length)


cdef class UnicastFlowControl(MaxFlowControl):
    """The same for one receiver. Aeron: UnicastFlowControl."""


cdef const uint8_t* _status_message(bytes frame) except NULL:
    cdef const uint8_t* octets = <const uint8_t*><const char*>frame
    if len(frame) < STATUS_MESSAGE_LENGTH or len(frame) < status_message_frame_length(octets):
        raise ValueError(f"status message: expected a whole frame of at least {STATUS_MESSAGE_LENGTH} bytes, actual {len(frame)}")
    return octets
