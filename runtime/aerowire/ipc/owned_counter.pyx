"""A counter whose record the driver may give to another owner while somebody still writes to it."""

from libc.stdint cimport int32_t

from aerowire.codecs.native.cnc cimport (
    COUNTER_METADATA_LENGTH, COUNTER_METADATA_STATE_OFFSET, COUNTER_VALUE_REFERENCE_ID_OFFSET, COUNTER_VALUE_REGISTRATION_ID_OFFSET)


cdef int owned_counter_open(OwnedCounter* counter, CountersReader counters, int32_t counter_id) except -1:
    counter.value = counters.value_address(counter_id)
    if counter.value is NULL:
        raise IndexError(f"counter id: expected 0 to {counters.capacity - 1}, actual {counter_id}")
    counter.state = counters.metadata + <int64_t>counter_id * COUNTER_METADATA_LENGTH + COUNTER_METADATA_STATE_OFFSET
    counter.registration = <const uint8_t*>counter.value + COUNTER_VALUE_REGISTRATION_ID_OFFSET
    counter.reference = <const uint8_t*>counter.value + COUNTER_VALUE_REFERENCE_ID_OFFSET
    counter.registration_id = counters.counter_registration_id(counter_id)
    counter.reference_id = counters.counter_reference_id(counter_id)
    return 0
