# What publications and images share.

from libc.stdint cimport int32_t, int64_t
from aerowire.base.wrapping cimport wrapping_subtract_long
from aerowire.codecs.native.transport cimport FRAME_ALIGNMENT
from aerowire.ipc.counters cimport counter_set
from aerowire.logbuffer.descriptor cimport active_term_count, compute_frame_offset, index_by_position
from aerowire.logbuffer.frame cimport STEP_MALFORMED, frame_length_acquire, frame_step
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.logbuffer.rebuild cimport clean_block

# Whether consumers have something ahead that does not come: a claim without an end, or a term that was not rotated.
cdef inline bint possibly_blocked(LogBuffers log, int64_t producer_position, int64_t consumer_position) noexcept nogil:
    return active_term_count(log.metadata) != <int32_t>(consumer_position >> log.bits) or producer_position > consumer_position

# Zero the log from `clean` up to `position` or the term's end, whichever comes first; returns how far it is clean now.
cdef inline int64_t clean_towards(LogBuffers log, int64_t clean, int64_t position) noexcept nogil:
    # The position may come from a counter that anybody can write: only whole frames' places are cleaned.
    cdef int64_t length = wrapping_subtract_long(position & -<int64_t>FRAME_ALIGNMENT, clean)
    cdef int32_t offset
    if length <= 0:
        return clean
    offset = compute_frame_offset(clean, log.term_length)
    if length > log.term_length - offset:
        length = log.term_length - offset
    clean_block(log.term_address(index_by_position(clean, log.bits)), offset, <int32_t>length)
    return clean + length

# The length of the frame at a position of a log that others write, if that frame cannot be stepped over; 0 for any other.
cdef inline int32_t malformed_length(LogBuffers log, int64_t position) noexcept nogil:
    cdef int32_t offset = compute_frame_offset(position, log.term_length)
    cdef int32_t length = frame_length_acquire(log.term_address(index_by_position(position, log.bits)) + offset)
    return length if frame_step(length, log.term_length - offset) == STEP_MALFORMED else 0

# The frame length at a position, negative for a claim: what an error says about it.
cdef inline int32_t claimed_length(LogBuffers log, int64_t position) noexcept nogil:
    return frame_length_acquire(log.term_address(index_by_position(position, log.bits)) + compute_frame_offset(position, log.term_length))

# Tell publishers whether somebody listens.
cdef inline void show_connected(LogBuffers log, bint connected) noexcept nogil:
    if log.is_connected() != connected:
        log.set_connected(connected)

# Nothing more is taken: the limit and the end are where the producer is.
cdef inline void publish_end(LogBuffers log, int64_t* publisher_limit) noexcept nogil:
    publish_end_at(log, publisher_limit, log.producer_position())

# Nothing behind `position` is taken any more.
cdef inline void publish_end_at(LogBuffers log, int64_t* publisher_limit, int64_t position) noexcept nogil:
    counter_set(publisher_limit, position)
    log.set_end_of_stream_position(position)
