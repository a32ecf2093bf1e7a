# How far a sender may send, decided from its receivers' status messages.

from libc.stdint cimport int32_t, int64_t, uint8_t

# Window of a receiver: the configured one, never more than half a term. Aeron: Configuration.receiverWindowLength.
cdef inline int32_t receiver_window_length(int32_t term_length, int32_t initial_window) noexcept nogil:
    return initial_window if initial_window < (term_length >> 1) else term_length >> 1

# Bytes of a NAK's `length` at `term_offset` that are sent again: at most `multiple` receiver windows, and to the term's end.
cdef inline int32_t retransmission_length_of(int32_t term_offset, int32_t length, int32_t term_length, int32_t multiple,
                                             int32_t initial_window) noexcept nogil:
    cdef int64_t longest = <int64_t>receiver_window_length(term_length, initial_window) * multiple
    if term_length - term_offset < longest:
        longest = term_length - term_offset
    return length if length < longest else <int32_t>longest


cdef class FlowControl:
    """A strategy, called on the sender's thread. `frame` points at the whole frame received; limits and positions in bytes."""

    cdef int64_t on_status_message(self, const uint8_t* frame, int32_t frame_length, int64_t position, int64_t sender_limit,
                                   int64_t now_ns) noexcept nogil               # returns the new sender limit
    cdef void on_trigger_send_setup(self, const uint8_t* frame, int32_t frame_length, int64_t now_ns) noexcept nogil
    cdef int64_t on_setup(self, int64_t sender_limit, int64_t sender_position, int64_t now_ns) noexcept nogil
    cdef void on_error(self, const uint8_t* frame, int64_t now_ns) noexcept nogil
    cdef int64_t on_idle(self, int64_t now_ns, int64_t sender_limit, int64_t sender_position, bint end_of_stream) noexcept nogil
    cdef bint has_required_receivers(self) noexcept nogil
    cdef int32_t max_retransmission_length(self, int32_t term_offset, int32_t length, int32_t term_length) noexcept nogil


cdef class MaxFlowControl(FlowControl):
    """MaxFlowControl(retransmit_window_multiple, initial_window_length): the fastest receiver decides; the limit never falls."""

    cdef int32_t _retransmit_window_multiple
    cdef int32_t _initial_window_length


cdef class UnicastFlowControl(MaxFlowControl):
    """UnicastFlowControl(retransmit_window_multiple, initial_window_length): one receiver, which decides."""
