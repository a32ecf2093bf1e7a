# A counter whose record the driver may give to another owner while somebody still writes to it.

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.codecs.native.cnc cimport COUNTER_STATE_ALLOCATED
from aerowire.ipc.counters cimport CountersReader
from aerowire.memory.atomics cimport cas_i64, load_acquire_i32, load_acquire_i64


cdef struct OwnedCounter:
    int64_t* value
    const uint8_t* state            # of the record
    const uint8_t* registration
    const uint8_t* reference
    int64_t registration_id         # whose the counter is: these two are another's once it has been given away
    int64_t reference_id


# Note whose a counter is now. Raises IndexError. The buffers of the reader have to stay mapped.
cdef int owned_counter_open(OwnedCounter* counter, CountersReader counters, int32_t counter_id) except -1

cdef inline bint owned_counter_is_owned(const OwnedCounter* counter) noexcept nogil:
    return (load_acquire_i32(counter.state) == COUNTER_STATE_ALLOCATED
            and load_acquire_i64(counter.registration) == counter.registration_id
            and load_acquire_i64(counter.reference) == counter.reference_id)

# Replace the value that is expected, unless the counter has another owner; return whether it was replaced. A driver gives a counter away a
# second after it was freed, with another value: a thread that was held up so long after its look replaces nothing either.
cdef inline bint owned_counter_replace(OwnedCounter* counter, int64_t expected, int64_t to) noexcept nogil:
    return owned_counter_is_owned(counter) and cas_i64(counter.value, expected, to)
