# One writer, many readers that may be overrun: the to-clients buffer. Byte-compatible with the official one.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.ipc.messages cimport MessageHandler


@cython.final
cdef class BroadcastTransmitter:
    """BroadcastTransmitter(buffer): capacity (power of two) + trailer. One writing thread."""

    cdef uint8_t* address
    cdef int32_t capacity
    cdef int32_t message_length_max
    cdef int64_t _tail
    cdef int64_t _latest            # begin of the last record
    cdef int32_t _latest_length     # 0 when it is not this transmitter's
    cdef int32_t _latest_type
    cdef object _holder

    # False when type <= 0 or length is out of range.
    cdef bint transmit_message(self, int32_t message_type, const uint8_t* body, int32_t length) noexcept nogil
    cdef object _repair_position(self, uint8_t* address, int64_t expected, str field, object found)


@cython.final
cdef class BroadcastReceiver:
    """BroadcastReceiver(buffer): starts at the latest message. One reading thread; copy, then check valid()."""

    cdef uint8_t* address
    cdef int32_t capacity
    cdef int64_t lapped         # times that the writer overran this reader; Python: lapped_count
    cdef bint _is_lap_untold    # found behind messages that were delivered
    cdef int32_t message_type   # of the record at _record, as it was read once
    cdef int32_t record_length  # its body and header
    cdef bint _lap_seen         # the record was overwritten while its header was read
    cdef int _damaged_field     # once it is set nothing more is received
    cdef int64_t _damaged_actual
    cdef int64_t _record
    cdef int64_t _next
    cdef int32_t _offset
    cdef uint8_t* _scratch
    cdef object _holder

    cdef bint receive_next(self) noexcept nogil         # True: a record, or one that was overwritten (_lap_seen)
    cdef bint valid(self) noexcept nogil                # the record was not overwritten while it was read
    cdef bint _is_whole(self, int64_t position) noexcept nogil
    cdef bint _catch_up(self) noexcept nogil
    cdef bint _go_to_latest(self) noexcept nogil
    cdef int64_t _read_header(self) noexcept nogil
    cdef bint _note_damage(self, int field, int64_t actual) noexcept nogil
    cdef object _damaged_error(self)
    cdef object _lapped_error(self)
    # Copy each pending message out, validate, call. Returns messages handled, or -1 when lapped (state already at the newest).
    cdef int poll_messages(self, MessageHandler handler, void* context, int limit) noexcept nogil
