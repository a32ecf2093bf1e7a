# What the two kinds of publications share.

from libc.stdint cimport int32_t, int64_t
from aerowire.ipc.counters cimport CountersReader
from aerowire.logbuffer.descriptor cimport active_term_count
from aerowire.logbuffer.log cimport LogBuffers

# Address of a counter, set to a first value. Raises IndexError for an id that cannot be.
cdef int64_t* position_address(CountersReader counters, int32_t counter_id, int64_t value) except NULL

# Whether consumers have something ahead that does not come: a claim without an end, or a term that was not rotated.
cdef inline bint possibly_blocked(LogBuffers log, int64_t producer_position, int64_t consumer_position) noexcept nogil:
    return active_term_count(log.metadata) != <int32_t>(consumer_position >> log.bits) or producer_position > consumer_position
