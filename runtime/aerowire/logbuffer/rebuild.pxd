# Writers of a received term, holes and abandoned claims, and cleaning.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.logbuffer.log cimport LogBuffers

# Copy a datagram's frames into the term unless its first frame is already there; the first header is published LAST.
# True when it was copied. The caller has checked that offset + length fits. Aeron: TermRebuilder.
cdef bint rebuild_insert(uint8_t* term, int32_t offset, const uint8_t* packet, int32_t length) noexcept nogil

# Fill [offset, offset + length) with one padding frame if every frame start in it is still empty. True when filled. Aeron: TermGapFiller.
cdef bint fill_gap(uint8_t* metadata, uint8_t* term, int32_t term_id, int32_t offset, int32_t length) noexcept nogil

cdef enum:
    UNBLOCK_NO_ACTION = 0
    UNBLOCKED = 1
    UNBLOCKED_TO_END = 2
    UNBLOCK_MALFORMED = 3       # what blocks is a frame or a claim that cannot be stepped over: nothing can free the log of it

# Turn an abandoned claim in [blocked_offset, tail_offset) into padding. Aeron: TermUnblocker.
cdef int unblock_term(uint8_t* metadata, uint8_t* term, int32_t term_length, int32_t blocked_offset, int32_t tail_offset, int32_t term_id) noexcept nogil

# The same for a log whose consumers stand at blocked_position; rotates when the term's end is reached. Aeron: LogBufferUnblocker.
cdef int unblock_log(LogBuffers logs, int64_t blocked_position) noexcept nogil

# Zero [offset, offset + length) so that a reader never sees a half-zeroed first header: the tail first, the first 8 bytes LAST.
cdef void clean_block(uint8_t* term, int32_t offset, int32_t length) noexcept nogil
