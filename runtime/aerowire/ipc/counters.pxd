# Counters: a value record and a metadata record each, in two buffers of the cnc file (or any two buffers of ratio 1:4).

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.wrapping cimport wrapping_add_long
from aerowire.memory.atomics cimport (
    fetch_add_i64, load_acquire_i64, load_relaxed_i64, store_relaxed_i64, store_release_i64)

# Operations on a value address. `increment`/`add` with release are for the one writer of a counter; `atomic_add` for many.
cdef inline int64_t counter_get(const int64_t* value) noexcept nogil:
    return load_acquire_i64(value)

cdef inline int64_t counter_get_relaxed(const int64_t* value) noexcept nogil:
    return load_relaxed_i64(value)

cdef inline void counter_set(int64_t* value, int64_t to) noexcept nogil:
    store_release_i64(value, to)

cdef inline void counter_increment(int64_t* value) noexcept nogil:
    store_release_i64(value, wrapping_add_long(load_relaxed_i64(value), 1))

cdef inline void counter_add(int64_t* value, int64_t by) noexcept nogil:
    store_release_i64(value, wrapping_add_long(load_relaxed_i64(value), by))

cdef inline int64_t counter_atomic_add(int64_t* value, int64_t by) noexcept nogil:
    return fetch_add_i64(value, by)

cdef inline bint counter_propose_max(int64_t* value, int64_t proposed) noexcept nogil:
    # one writer; True when the value moved
    if load_relaxed_i64(value) < proposed:
        store_release_i64(value, proposed)
        return True
    return False


cdef class CountersReader:
    """CountersReader(metadata, values): reads another's counters. Any thread."""

    cdef uint8_t* metadata
    cdef uint8_t* values
    cdef int32_t capacity               # counters that fit; ids are 0 .. capacity - 1
    cdef object _metadata_holder
    cdef object _values_holder
    cdef object __weakref__

    cdef int64_t* value_address(self, int32_t counter_id) noexcept nogil       # NULL when out of range
    cdef int32_t counter_state(self, int32_t counter_id) noexcept nogil        # 0 unused, 1 allocated, -1 reclaimed
    cdef int32_t counter_type_id(self, int32_t counter_id) noexcept nogil
    cdef const uint8_t* counter_key(self, int32_t counter_id) noexcept nogil   # 112 bytes
    cdef int64_t counter_registration_id(self, int32_t counter_id) noexcept nogil
    cdef int64_t counter_owner_id(self, int32_t counter_id) noexcept nogil
    cdef int64_t counter_reference_id(self, int32_t counter_id) noexcept nogil

    cdef void store_reference_id(self, int32_t counter_id, int64_t reference_id) noexcept nogil   # of a counter of this client's own
    cdef int64_t* set_value_address(self, int32_t counter_id, int64_t value) except NULL  # of a counter set to a first value; IndexError
    cdef int _map(self, object metadata, object values, bint writable) except -1
    cdef uint8_t* _metadata_record(self, int32_t counter_id) noexcept nogil
    cdef uint8_t* _value_record(self, int32_t counter_id) noexcept nogil
    cdef int32_t _check(self, int32_t counter_id) except -1


@cython.final
cdef class CountersManager(CountersReader):
    """CountersManager(metadata, values, *, free_to_reuse_timeout_ms=0, epoch_ms=None): allocates and frees. One thread (the conductor)."""

    cdef int64_t _reuse_timeout_ms
    cdef object _epoch_ms               # callable -> ms, or None for no reuse delay
    cdef int32_t _high_water            # highest id ever allocated; -1 none
    # Freed ids, oldest first: a ring, native because numbers that live on between short-lived objects keep Python's memory from the system.
    cdef int32_t* _free_ids
    cdef int32_t _free_capacity         # power of two
    cdef int32_t _free_head
    cdef int32_t _free_count

    # key: bytes of at most 112, or callable(memoryview of 112 zeroed bytes). CountersFullError when nothing is free.
    cpdef int32_t allocate(self, str label, int32_t type_id=*, object key=*, int64_t registration_id=*, int64_t owner_id=*,
                           int64_t reference_id=*) except -1
    cpdef object free(self, int32_t counter_id)

    cdef int64_t _now_ms(self) except? -1
    cdef int _put_free(self, int32_t counter_id) except -1
    cdef int32_t _next_id(self) except -1
    cdef int _write_key(self, uint8_t* record, object key) except -1
    cdef int _write_label(self, uint8_t* record, str label) except -1


@cython.final
cdef class AtomicCounter:
    """A counter by id with get/set/add; keeps its buffers mapped. `close()` frees it through its manager."""

    cdef int64_t* address
    cdef CountersReader _counters
    cdef int32_t _counter_id
    cdef bint _closed

    cdef int _check_open(self) except -1
    cdef int _check_writable(self) except -1
