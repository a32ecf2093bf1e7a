"""A counter in the driver's counters buffer, that all who watch the driver can read. Aeron: Counter, AtomicCounter."""

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.base.whole_numbers cimport int64_of
from aerowire.client.handles.state cimport STATE_OPEN, Handle
from aerowire.ipc.counters cimport CountersReader, counter_atomic_add, counter_get, counter_set
from aerowire.memory.atomics cimport cas_i64, exchange_i64

from aerowire.client.handles.html import counter_html


@cython.final
cdef class Counter(Handle):
    """A 64-bit number shared through memory. From `Aeron.add_counter`; any thread.

    It is freed when it or its client is closed, unless it `is_static`, which stays.
    """

    def __init__(self, conductor, CountersReader counters not None, *, int32_t counter_id, int64_t registration_id, is_static=False):
        self.address = counters.value_address(counter_id)
        if self.address is NULL:
            raise ValueError(f"counter {counter_id} is outside the counters buffer")
        self._conductor = conductor
        self._counters = counters
        self.counter_id = counter_id
        self.registration_id = registration_id
        self.is_static = is_static

    def __enter__(self):
        return self

    def __exit__(self, error_type, error, traceback):
        self.close()

    def __repr__(self):
        return f"Counter(counter_id={self.counter_id}, registration_id={self.registration_id}, is_closed={self.is_closed})"

    @property
    def value(self):
        """The number. Raises ClosedError when closed."""
        return counter_get(self.live_address())

    @value.setter
    def value(self, to):
        counter_set(self.live_address(), int64_of("value", to))

    @property
    def label(self):
        """What the counter is called."""
        self._ensure_open()
        return self._counters.label(self.counter_id)

    def increment(self):
        """Add one, atomically; return the number before."""
        return counter_atomic_add(self.live_address(), 1)

    def get_and_add(self, by):
        """Add `by`, atomically; return the number before."""
        return counter_atomic_add(self.live_address(), int64_of("by", by))

    def decrement(self):
        """Subtract one, atomically; return the number before."""
        return counter_atomic_add(self.live_address(), -1)

    def get_and_set(self, to):
        """Replace the number, atomically; return the one before."""
        return exchange_i64(self.live_address(), int64_of("to", to))

    def compare_and_set(self, expected, to):
        """Replace the number if it is `expected`, atomically; return whether it was."""
        return cas_i64(self.live_address(), int64_of("expected", expected), int64_of("to", to))

    def propose_max(self, proposed):
        """Raise the number to `proposed` if it is less, atomically; return whether it was."""
        cdef int64_t* address = self.live_address()
        cdef int64_t to = int64_of("proposed", proposed)
        cdef int64_t current = counter_get(address)
        while current < to:
            if cas_i64(address, current, to):
                return True
            current = counter_get(address)
        return False

    @property
    def key(self):
        """The 112 bytes that say what is counted, in the form that the type has."""
        self._ensure_open()
        return self._counters.key(self.counter_id)

    @property
    def type_id(self):
        """What kind of counter it is; from 1000 up the application's own."""
        self._ensure_open()
        return self._counters.type_id(self.counter_id)

    @property
    def owner_id(self):
        """Client that it belongs to; -1 for a static one."""
        self._ensure_open()
        return self._counters.owner_id(self.counter_id)

    @property
    def reference_id(self):
        """What it refers to, if anything."""
        self._ensure_open()
        return self._counters.reference_id(self.counter_id)

    @reference_id.setter
    def reference_id(self, to):
        self._ensure_open()
        self._counters.store_reference_id(self.counter_id, int64_of("reference id", to))

    @property
    def state(self):
        """State of its record: unused, allocated or reclaimed."""
        return self._counters.state(self.counter_id)

    def _repr_html_(self):
        """Render as a table, for notebooks."""
        return counter_html(self)

    def close(self):
        """Give the counter back to the driver; a static one stays. A second call does nothing."""
        self._conductor.close_counter(self)

    cdef CountersReader counters(self):
        return self._counters

    cdef int64_t* live_address(self) except NULL:
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        return self.address
