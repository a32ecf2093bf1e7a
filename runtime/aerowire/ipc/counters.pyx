"""Counters: 64-bit values with a type, a key and a label, in two parallel arrays of records.

    values:   value, registration, owner, reference          metadata: state, type, reuse deadline, key, label length, label

A record's state is published LAST.  A reader stops at the first unused record.  Aeron: CountersManager, CountersReader.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport free as free_memory, malloc
from libc.string cimport memcpy, memset

from typing import NamedTuple

from aerowire.base.errors import ClosedError, ConfigurationError, CountersFullError
from aerowire.base.whole_numbers cimport int32_of, int64_of
from aerowire.codecs.native.cnc cimport (
    COUNTER_DEFAULT_OWNER_ID, COUNTER_DEFAULT_REFERENCE_ID, COUNTER_DEFAULT_REGISTRATION_ID, COUNTER_KEY_LENGTH_MAX,
    COUNTER_LABEL_LENGTH_MAX, COUNTER_METADATA_FREE_FOR_REUSE_DEADLINE_MS_OFFSET, COUNTER_METADATA_KEY_OFFSET,
    COUNTER_METADATA_LABEL_LENGTH_OFFSET, COUNTER_METADATA_LABEL_OFFSET, COUNTER_METADATA_LENGTH, COUNTER_METADATA_STATE_OFFSET,
    COUNTER_NOT_FREE_TO_REUSE, COUNTER_NULL_ID, COUNTER_STATE_ALLOCATED, COUNTER_STATE_RECLAIMED, COUNTER_STATE_UNUSED,
    COUNTER_VALUE_LENGTH, COUNTER_VALUE_OWNER_ID_OFFSET, COUNTER_VALUE_REFERENCE_ID_OFFSET, COUNTER_VALUE_REGISTRATION_ID_OFFSET,
    COUNTER_VALUE_VALUE_OFFSET, counter_metadata_set_type_id, counter_metadata_type_id)
from aerowire.memory.atomics cimport (
    cas_i64, load_acquire_i32, load_acquire_i64, store_release_i32, store_release_i64, store_seq_cst_i64)
from aerowire.memory.region cimport BufferView, borrow

NULL_COUNTER_ID = COUNTER_NULL_ID
STATE_UNUSED = COUNTER_STATE_UNUSED
STATE_ALLOCATED = COUNTER_STATE_ALLOCATED
STATE_RECLAIMED = COUNTER_STATE_RECLAIMED


cdef int32_t FREE_IDS_FIRST = 64     # a power of two


class CounterInfo(NamedTuple):
    """One allocated counter as a reader found it."""

    counter_id: int
    type_id: int
    label: str
    value: int
    registration_id: int
    owner_id: int
    reference_id: int
    key: bytes


cdef class CountersReader:
    """Reads counters that somebody else allocates.  Holds both buffers mapped.

    Invariant: capacity counters fit into both buffers.
    """

    def __init__(self, metadata, values):
        self._map(metadata, values, False)

    cdef int _map(self, object metadata, object values, bint writable) except -1:
        cdef BufferView view
        cdef int64_t metadata_count, values_count
        self._metadata_holder = borrow(metadata, &view, writable)
        self.metadata = view.address
        metadata_count = view.length // COUNTER_METADATA_LENGTH
        self._values_holder = borrow(values, &view, writable)
        self.values = view.address
        values_count = view.length // COUNTER_VALUE_LENGTH
        if metadata_count < values_count:
            raise ConfigurationError("counter metadata buffer is too small for the values buffer",
                                     expected=f">= {values_count * COUNTER_METADATA_LENGTH} bytes",
                                     actual=f"{metadata_count * COUNTER_METADATA_LENGTH} bytes")
        self.capacity = <int32_t>min(values_count, <int64_t>INT32_MAX)
        return 0

    cdef uint8_t* _metadata_record(self, int32_t counter_id) noexcept nogil:
        return self.metadata + <int64_t>counter_id * COUNTER_METADATA_LENGTH

    cdef uint8_t* _value_record(self, int32_t counter_id) noexcept nogil:
        return self.values + <int64_t>counter_id * COUNTER_VALUE_LENGTH

    cdef int64_t* value_address(self, int32_t counter_id) noexcept nogil:
        if counter_id < 0 or counter_id >= self.capacity:
            return NULL
        return <int64_t*>(self._value_record(counter_id) + COUNTER_VALUE_VALUE_OFFSET)

    cdef int64_t* set_value_address(self, int32_t counter_id, int64_t value) except NULL:
        cdef int64_t* address = self.value_address(counter_id)
        if address is NULL:
            raise IndexError(f"counter id: expected 0 to {self.capacity - 1}, actual {counter_id}")
        counter_set(address, value)
        return address

    cdef int32_t counter_state(self, int32_t counter_id) noexcept nogil:
        return load_acquire_i32(self._metadata_record(counter_id) + COUNTER_METADATA_STATE_OFFSET)

    cdef int32_t counter_type_id(self, int32_t counter_id) noexcept nogil:
        return counter_metadata_type_id(self._metadata_record(counter_id))

    cdef const uint8_t* counter_key(self, int32_t counter_id) noexcept nogil:
        return self._metadata_record(counter_id) + COUNTER_METADATA_KEY_OFFSET

    cdef int64_t counter_registration_id(self, int32_t counter_id) noexcept nogil:
        return load_acquire_i64(self._value_record(counter_id) + COUNTER_VALUE_REGISTRATION_ID_OFFSET)

    cdef int64_t counter_owner_id(self, int32_t counter_id) noexcept nogil:
        return load_acquire_i64(self._value_record(counter_id) + COUNTER_VALUE_OWNER_ID_OFFSET)

    cdef int64_t counter_reference_id(self, int32_t counter_id) noexcept nogil:
        return load_acquire_i64(self._value_record(counter_id) + COUNTER_VALUE_REFERENCE_ID_OFFSET)

    cdef void store_reference_id(self, int32_t counter_id, int64_t reference_id) noexcept nogil:
        store_release_i64(self._value_record(counter_id) + COUNTER_VALUE_REFERENCE_ID_OFFSET, reference_id)

    cdef int32_t _check(self, int32_t counter_id) except -1:
        if not 0 <= counter_id < self.capacity:
            raise ValueError(f"counter id: expected 0 to {self.capacity - 1}, actual {counter_id}")
        return counter_id

    # -- Python faces --------------------------------------------------------------------------------------------------------------

    def value(self, counter_id) -> int:
        """Value of a counter."""
        return load_acquire_i64(self.value_address(self._check(int32_of("counter id", counter_id))))

    def state(self, counter_id) -> int:
        """0 unused, 1 allocated, -1 reclaimed."""
        return self.counter_state(self._check(int32_of("counter id", counter_id)))

    def type_id(self, counter_id) -> int:
        return self.counter_type_id(self._check(int32_of("counter id", counter_id)))

    def registration_id(self, counter_id) -> int:
        return self.counter_registration_id(self._check(int32_of("counter id", counter_id)))

    def owner_id(self, counter_id) -> int:
        return self.counter_owner_id(self._check(int32_of("counter id", counter_id)))

    def reference_id(self, counter_id) -> int:
        return self.counter_reference_id(self._check(int32_of("counter id", counter_id)))

    def free_for_reuse_deadline_ms(self, counter_id) -> int:
        """Epoch milliseconds from which a freed id may be used again; 2^63 - 1 while in use."""
        return load_acquire_i64(self._metadata_record(self._check(int32_of("counter id", counter_id))) + COUNTER_METADATA_FREE_FOR_REUSE_DEADLINE_MS_OFFSET)

    def key(self, counter_id) -> bytes:
        """The whole key area."""
        return (<const char*>self.counter_key(self._check(int32_of("counter id", counter_id))))[:COUNTER_KEY_LENGTH_MAX]

    def label(self, counter_id) -> str:
        """Label of a counter; octets that are not UTF-8 are escaped."""
        cdef const uint8_t* record = self._metadata_record(self._check(int32_of("counter id", counter_id)))
        cdef int32_t length = load_acquire_i32(record + COUNTER_METADATA_LABEL_LENGTH_OFFSET)
        length = max(0, min(length, <int32_t>COUNTER_LABEL_LENGTH_MAX))
        return (<const char*>(record + COUNTER_METADATA_LABEL_OFFSET))[:length].decode("utf-8", "backslashreplace")

    def value_view(self, counter_id) -> memoryview:
        """Eight octets of a counter's value; keeps them mapped."""
        begin = self._check(int32_of("counter id", counter_id)) * COUNTER_VALUE_LENGTH + COUNTER_VALUE_VALUE_OFFSET
        return memoryview(self._values_holder)[begin:begin + sizeof(int64_t)]

    def _repr_html_(self) -> str:
        """Render all counters in use as a table, for notebooks."""
        from aerowire.base.html import table_html
        return table_html(("id", "value", "label"), [(counter.counter_id, counter.value, counter.label) for counter in self.for_each()])

    def for_each(self):
        """Yield CounterInfo of every allocated counter, in the order of ids."""
        cdef int32_t counter_id
        for counter_id in range(self.capacity):
            state = self.counter_state(counter_id)
            if state == COUNTER_STATE_UNUSED:
                return
            if state == COUNTER_STATE_ALLOCATED:
                yield CounterInfo(counter_id, self.counter_type_id(counter_id), self.label(counter_id), self.value(counter_id),
                                  self.counter_registration_id(counter_id), self.counter_owner_id(counter_id),
                                  self.counter_reference_id(counter_id), self.key(counter_id))

    def find_by_type_and_registration(self, type_id, registration_id) -> int:
        """Id of the allocated counter of a type and registration, or NULL_COUNTER_ID."""
        cdef int32_t counter_id
        cdef int32_t state
        cdef int32_t wanted_type_id = int32_of("type id", type_id)
        cdef int64_t wanted_registration_id = int64_of("registration id", registration_id)
        for counter_id in range(self.capacity):
            state = self.counter_state(counter_id)
            if state == COUNTER_STATE_UNUSED:
                break
            if (state == COUNTER_STATE_ALLOCATED and self.counter_type_id(counter_id) == wanted_type_id
                    and self.counter_registration_id(counter_id) == wanted_registration_id):
                return counter_id
        return COUNTER_NULL_ID

    @property
    def max_count(self) -> int:
        """Counters that fit."""
        return self.capacity


cdef class CountersManager(CountersReader):
    """Allocates and frees counters.

    Changed by: its one thread.  A freed id is given out again only when free_to_reuse_timeout_ms has passed, so that a reader that
    still holds it does not read another counter.  Invariant: ids above _high_water were never used.
    """

    def __dealloc__(self):
        free_memory(self._free_ids)

    def __init__(self, metadata, values, *, int64_t free_to_reuse_timeout_ms=0, epoch_ms=None):
        self._map(metadata, values, True)
        self._reuse_timeout_ms = free_to_reuse_timeout_ms
        self._epoch_ms = epoch_ms
        self._high_water = COUNTER_NULL_ID

    cpdef int32_t allocate(self, str label, int32_t type_id=0, object key=None, int64_t registration_id=COUNTER_DEFAULT_REGISTRATION_ID,
                           int64_t owner_id=COUNTER_DEFAULT_OWNER_ID, int64_t reference_id=COUNTER_DEFAULT_REFERENCE_ID) except -1:
        """Allocate a counter of value 0 and return its id.

        key: bytes of at most 112, or callable(memoryview of 112 zeroed octets), or None.  Labels are cut at 380 octets.
        Raises CountersFullError; ValueError for a key that is too long.
        """
        cdef int32_t counter_id = self._next_id()
        cdef uint8_t* record = self._metadata_record(counter_id)
        cdef uint8_t* values = self._value_record(counter_id)
        try:
            counter_metadata_set_type_id(record, type_id)
            self._write_key(record, key)
            self._write_label(record, label)
        except BaseException:
            self._put_free(counter_id)
            store_release_i64(record + COUNTER_METADATA_FREE_FOR_REUSE_DEADLINE_MS_OFFSET, 0)
            store_release_i32(record + COUNTER_METADATA_STATE_OFFSET, COUNTER_STATE_RECLAIMED)
            raise
        store_release_i64(record + COUNTER_METADATA_FREE_FOR_REUSE_DEADLINE_MS_OFFSET, COUNTER_NOT_FREE_TO_REUSE)
        store_release_i64(values + COUNTER_VALUE_REGISTRATION_ID_OFFSET, registration_id)
        store_release_i64(values + COUNTER_VALUE_OWNER_ID_OFFSET, owner_id)
        store_release_i64(values + COUNTER_VALUE_REFERENCE_ID_OFFSET, reference_id)
        store_release_i64(values + COUNTER_VALUE_VALUE_OFFSET, 0)
        store_release_i32(record + COUNTER_METADATA_STATE_OFFSET, COUNTER_STATE_ALLOCATED)      # LAST
        return counter_id

    cpdef object free(self, int32_t counter_id):
        """Give a counter back; its id may be used again after the reuse timeout."""
        cdef uint8_t* record = self._metadata_record(self._check(counter_id))
        if self.counter_state(counter_id) != COUNTER_STATE_ALLOCATED:
            raise ValueError(f"counter {counter_id}: expected an allocated one, actual state {self.counter_state(counter_id)}")
        store_release_i64(record + COUNTER_METADATA_FREE_FOR_REUSE_DEADLINE_MS_OFFSET, self._now_ms() + self._reuse_timeout_ms)
        store_release_i32(record + COUNTER_METADATA_STATE_OFFSET, COUNTER_STATE_RECLAIMED)
        memset(record + COUNTER_METADATA_KEY_OFFSET, 0, COUNTER_KEY_LENGTH_MAX)
        self._put_free(counter_id)

    cdef int64_t _now_ms(self) except? -1:
        return 0 if self._epoch_ms is None else self._epoch_ms()

    cdef int _put_free(self, int32_t counter_id) except -1:
        cdef int32_t capacity = max(2 * self._free_capacity, FREE_IDS_FIRST)
        cdef int32_t i
        cdef int32_t* grown
        if self._free_count == self._free_capacity:
            grown = <int32_t*>malloc(capacity * sizeof(int32_t))
            if grown is NULL:
                raise MemoryError
            for i in range(self._free_count):
                grown[i] = self._free_ids[(self._free_head + i) & (self._free_capacity - 1)]
            free_memory(self._free_ids)
            self._free_ids = grown
            self._free_capacity = capacity
            self._free_head = 0
        self._free_ids[(self._free_head + self._free_count) & (self._free_capacity - 1)] = counter_id
        self._free_count += 1
        return 0

    cdef int32_t _next_id(self) except -1:
        # ids are freed in the order of their deadlines, so the oldest decides
        cdef int64_t deadline
        cdef int32_t counter_id
        if self._free_count:
            deadline = load_acquire_i64(
                self._metadata_record(self._free_ids[self._free_head]) + COUNTER_METADATA_FREE_FOR_REUSE_DEADLINE_MS_OFFSET)
            if self._epoch_ms is None or self._now_ms() >= deadline:
                counter_id = self._free_ids[self._free_head]
                self._free_head = (self._free_head + 1) & (self._free_capacity - 1)
                self._free_count -= 1
                return counter_id
        if self._high_water + 1 >= self.capacity:
            raise CountersFullError("counters buffer is full", expected="a free record", actual=f"{self.capacity} counters in use",
                                    hint="close unused publications, subscriptions and counters, or raise aeron.counters.buffer.length")
        self._high_water += 1
        return self._high_water

    cdef int _write_key(self, uint8_t* record, object key) except -1:
        cdef uint8_t* area = record + COUNTER_METADATA_KEY_OFFSET
        cdef BufferView view
        memset(area, 0, COUNTER_KEY_LENGTH_MAX)
        if key is None:
            return 0
        if callable(key):
            begin = area - self.metadata
            key(memoryview(self._metadata_holder)[begin:begin + COUNTER_KEY_LENGTH_MAX])
            return 0
        holder = borrow(key, &view, False)
        if view.length > COUNTER_KEY_LENGTH_MAX:
            raise ValueError(f"counter key: expected at most {COUNTER_KEY_LENGTH_MAX} bytes, actual {view.length}")
        memcpy(area, view.address, view.length)
        return 0

    cdef int _write_label(self, uint8_t* record, str label) except -1:
        cdef bytes text = encode_label(label)[:COUNTER_LABEL_LENGTH_MAX]
        memcpy(record + COUNTER_METADATA_LABEL_OFFSET, <const char*>text, len(text))
        store_release_i32(record + COUNTER_METADATA_LABEL_LENGTH_OFFSET, <int32_t>len(text))
        return 0

    def set_label(self, int32_t counter_id, str label) -> None:
        """Replace a label."""
        self._write_label(self._metadata_record(self._check(counter_id)), label)

    def append_label(self, int32_t counter_id, str suffix) -> int:
        """Add to a label; return how many octets fitted."""
        cdef uint8_t* record = self._metadata_record(self._check(counter_id))
        cdef int32_t length = load_acquire_i32(record + COUNTER_METADATA_LABEL_LENGTH_OFFSET)
        cdef bytes text
        # Shared memory may hold any length.
        length = max(0, min(length, <int32_t>COUNTER_LABEL_LENGTH_MAX))
        text = encode_label(suffix)[:COUNTER_LABEL_LENGTH_MAX - length]
        memcpy(record + COUNTER_METADATA_LABEL_OFFSET + length, <const char*>text, len(text))
        store_release_i32(record + COUNTER_METADATA_LABEL_LENGTH_OFFSET, length + <int32_t>len(text))
        return len(text)

    def set_key(self, int32_t counter_id, key) -> None:
        """Replace a key: bytes or callable, as in allocate()."""
        self._write_key(self._metadata_record(self._check(counter_id)), key)

    def set_value(self, int32_t counter_id, int64_t value) -> None:
        store_release_i64(self.value_address(self._check(counter_id)), value)

    def set_registration_id(self, int32_t counter_id, int64_t registration_id) -> None:
        store_release_i64(self._value_record(self._check(counter_id)) + COUNTER_VALUE_REGISTRATION_ID_OFFSET, registration_id)

    def set_owner_id(self, int32_t counter_id, int64_t owner_id) -> None:
        store_release_i64(self._value_record(self._check(counter_id)) + COUNTER_VALUE_OWNER_ID_OFFSET, owner_id)

    def set_reference_id(self, int32_t counter_id, int64_t reference_id) -> None:
        self.store_reference_id(self._check(counter_id), reference_id)

    @property
    def available(self) -> int:
        """Counters that can be allocated now or when their reuse timeouts end."""
        return self.capacity - (self._high_water + 1) + self._free_count


cdef bytes encode_label(str label):
    # readers of other languages take labels as ASCII
    return label.encode("ascii", "replace")


cdef class AtomicCounter:
    """A counter by id.  Keeps its buffers mapped.  close() frees it when it was made by a manager."""

    def __init__(self, CountersReader counters not None, int32_t counter_id):
        self.address = counters.value_address(counters._check(counter_id))
        self._counters = counters
        self._counter_id = counter_id

    @property
    def id(self) -> int:
        return self._counter_id

    @property
    def label(self) -> str:
        return self._counters.label(self._counter_id)

    @property
    def closed(self) -> bool:
        return self._closed

    def get(self) -> int:
        self._check_open()
        return counter_get(self.address)

    def set(self, int64_t value) -> None:
        """Store with release."""
        self._check_writable()
        counter_set(self.address, value)

    def set_volatile(self, int64_t value) -> None:
        """Store with a full fence."""
        self._check_writable()
        store_seq_cst_i64(self.address, value)

    def add(self, int64_t by) -> int:
        """Add atomically, next to other writers; return the value before."""
        self._check_writable()
        return counter_atomic_add(self.address, by)

    def increment(self) -> int:
        """Add 1 atomically; return the value before."""
        return self.add(1)

    def compare_and_set(self, int64_t expected, int64_t to) -> bool:
        """Replace the value if it is `expected`, atomically, next to other writers; return whether it was."""
        self._check_writable()
        return cas_i64(self.address, expected, to)

    def propose_max(self, int64_t proposed) -> bool:
        """Raise the value to `proposed` if it is lower. One writer only."""
        self._check_writable()
        return counter_propose_max(self.address, proposed)

    def close(self) -> None:
        """Free the counter, if its counters were opened by a manager. Idempotent."""
        if not self._closed:
            self._closed = True
            if isinstance(self._counters, CountersManager):
                (<CountersManager>self._counters).free(self._counter_id)

    cdef int _check_open(self) except -1:
        if self._closed:
            raise ClosedError("counter is closed", where=self._counter_id)
        return 0

    cdef int _check_writable(self) except -1:
        self._check_open()
        if not isinstance(self._counters, CountersManager):
            raise TypeError("counters opened by a reader cannot be written")
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()
