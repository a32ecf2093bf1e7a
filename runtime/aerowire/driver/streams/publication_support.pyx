"""What publications and images share: counters found by id."""

from libc.stdint cimport int32_t, int64_t

from aerowire.ipc.counters cimport CountersReader, counter_set


cdef int64_t* position_address(CountersReader counters, int32_t counter_id, int64_t value) except NULL:
    cdef int64_t* address = counters.value_address(counter_id)
    if address is NULL:
        raise IndexError(f"counter id: expected 0 to {counters.capacity - 1}, actual {counter_id}")
    counter_set(address, value)
    return address
