# Flow control that waits for the slowest receiver of a group.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.protocol.flow_control cimport FlowControl

cdef enum:
    NO_LIMIT_HELD = -1

cdef struct GroupReceiver:
    int64_t receiver_id
    int64_t limit                   # position + window of its last status message
    int64_t last_heard_ns
    bint ended                      # said so, or sent an error: goes at the next idle cycle


cdef class GroupWatcher:
    """Is told on the sender's thread who joins and leaves a group; `count` is how many there are then."""

    cdef void on_receiver_added(self, int64_t receiver_id, int count) noexcept nogil
    cdef void on_receiver_removed(self, int64_t receiver_id, int count) noexcept nogil


cdef class MinFlowControl(FlowControl):
    """Sender's thread; has_required_receivers() may be asked by any."""

    cdef GroupReceiver* _receivers
    cdef int _count
    cdef int _capacity
    cdef int _group_min_size
    cdef int64_t _receiver_timeout_ns
    cdef int64_t _held_limit            # sender limit when a member asked for a set-up, NO_LIMIT_HELD for none
    cdef int64_t _held_since_ns
    cdef bint _member_asked
    cdef int32_t _satisfied             # between threads
    cdef int32_t _retransmit_window_multiple
    cdef int32_t _initial_window_length
    cdef int64_t* _shown_count          # of the fc-receivers counter, NULL for none
    cdef object _counters
    cdef GroupWatcher _watcher          # None: nobody wants to know

    # Whether the sender of a frame belongs to the group.
    cdef bint is_member(self, const uint8_t* status_message) noexcept nogil
    cdef bint is_member_error(self, const uint8_t* error_frame) noexcept nogil
    # private
    cdef bint _add(self, int64_t receiver_id, int64_t limit, int64_t now_ns) noexcept nogil
    cdef void _on_count_changed(self) noexcept nogil
    cdef int64_t _held(self, int64_t now_ns) noexcept nogil
