"""What agents tell the conductor: a bounded queue with many producers, one consumer and a wake-up.

Agents write fixed records; only the conductor turns them into Python objects. The queue keeps alive what it was told to hold,
because agents have borrowed pointers alone.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

cimport cython

from enum import IntEnum

from aerowire.base.address cimport address_to
from aerowire.ipc.counters cimport counter_atomic_add
from aerowire.memory.atomics cimport cas_i64, load_acquire_i64, load_relaxed_i64, store_release_i64
from aerowire.system.wakeup cimport Wakeup


EventType = IntEnum("EventType", {name.removeprefix("EVENT_"): int(code) for name, code in EventCode.__members__.items()})
NativeErrorCode = IntEnum("NativeErrorCode", {name.removeprefix("ERROR_"): int(code) for name, code in NativeError.__members__.items()})


class Event:
    """One event: `values` are the handler's arguments, and more that mean nothing; addresses are (host, port) or None."""

    __slots__ = ("type", "subject", "values", "control_address", "source_address", "message")

    def __init__(self, type, subject, values, control_address=None, source_address=None, message=""):
        self.type = type
        self.subject = subject
        self.values = values
        self.control_address = control_address
        self.source_address = source_address
        self.message = message

    def __repr__(self):
        return f"{self.type.name}{self.values}"


@cython.final
cdef class EventQueue:
    """A ring of slots with sequence numbers: a slot is free for ticket t when its sequence is t, full when it is t + 1.

    Invariant: head <= tail <= head + capacity. `capacity` is a power of two.
    """

    def __cinit__(self, int64_t capacity=1024):
        cdef int64_t i
        if capacity < 2 * EVENT_RESERVE or capacity & (capacity - 1):
            raise ValueError(f"event queue capacity: expected a power of two of at least {2 * EVENT_RESERVE}, actual {capacity}")
        self._slots = <EventRecord*>calloc(capacity, sizeof(EventRecord))
        if self._slots is NULL:
            raise MemoryError
        for i in range(capacity):
            self._slots[i].sequence = i
        self._capacity = capacity
        self._wakeup = Wakeup()
        self._held = {}
        self._awaited = {}

    def __dealloc__(self):
        free(self._slots)

    cdef EventRecord* claim(self, int event_type, void* subject) noexcept nogil:
        cdef int64_t ticket, sequence
        cdef EventRecord* slot
        while True:
            ticket = load_relaxed_i64(&self._tail)
            slot = &self._slots[ticket & (self._capacity - 1)]
            sequence = load_acquire_i64(&slot.sequence)
            if sequence == ticket:
                if cas_i64(&self._tail, ticket, ticket + 1):
                    slot.type = event_type
                    slot.subject = subject
                    slot.text_length = 0
                    slot.control.length = 0
                    slot.source.length = 0
                    return slot
            elif sequence < ticket:
                if self.failed_offers is not NULL:
                    counter_atomic_add(self.failed_offers, 1)
                return NULL

    cdef void publish(self, EventRecord* record) noexcept nogil:
        store_release_i64(&record.sequence, record.sequence + 1)
        self._wakeup.signal()

    cdef bint offer(self, int event_type, void* subject, int64_t a, int64_t b) noexcept nogil:
        cdef EventRecord* record = self.claim(event_type, subject)
        if record is NULL:
            return False
        record.values[0] = a
        record.values[1] = b
        self.publish(record)
        return True

    cdef bint offer_or_retry(self, int event_type, void* subject, int64_t a, int64_t b) noexcept nogil:
        return self.has_timer_room() and self.offer(event_type, subject, a, b)

    cdef bint report(self, void* subject, int code, int64_t a, int64_t b) noexcept nogil:
        cdef EventRecord* record
        if not self.has_room():
            return False
        record = self.claim(EVENT_NATIVE_ERROR, subject)
        if record is NULL:
            return False
        record.values[0] = code
        record.values[1] = a
        record.values[2] = b
        self.publish(record)
        return True

    cdef int64_t free_slots(self) noexcept nogil:
        return self._capacity - (load_relaxed_i64(&self._tail) - load_acquire_i64(&self._head))

    cdef bint has_room(self) noexcept nogil:
        # Who asks has something to post, and will ask again: that it could not is a failed offer, as it is for the official driver.
        if self.free_slots() > EVENT_RESERVE:
            return True
        self.count_refusal()
        return False

    cdef void count_refusal(self) noexcept nogil:
        if self.failed_offers is not NULL:
            counter_atomic_add(self.failed_offers, 1)

    cdef bint can_answer(self) noexcept nogil:
        return self.free_slots() > EVENT_ANSWER_RESERVE

    cdef bint has_timer_room(self) noexcept nogil:
        return self.free_slots() > EVENT_TIMER_RESERVE

    cdef void signal(self) noexcept nogil:
        self._wakeup.signal()

    cdef int hold(self, object subject) except -1:
        entry = self._held.setdefault(id(subject), [subject, 0])
        entry[1] += 1
        return 0

    cdef int let_go(self, object subject) except -1:
        entry = self._held[id(subject)]
        entry[1] -= 1
        if not entry[1]:
            del self._held[id(subject)]
        return 0

    cdef int await_answer(self, object subject) except -1:
        entry = self._awaited.setdefault(id(subject), [subject, 0])
        entry[1] += 1
        return 0

    cdef int answered(self, object subject) except -1:
        entry = self._awaited.get(id(subject))
        if entry is not None:
            entry[1] -= 1
            if not entry[1]:
                del self._awaited[id(subject)]
        return 0

    def wake(self) -> None:
        """Let `sleep` return; any thread."""
        self._wakeup.signal()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when something was queued."""
        return self._wakeup.fileno()

    def sleep(self, int64_t timeout_ns) -> bool:
        """Sleep without the interpreter lock until something is queued or wake() is called, at most `timeout_ns`; return whether it was so."""
        cdef bint woken = self.is_pending()
        if not woken:
            woken = self._wakeup.wait(timeout_ns / 1e9)
        self._wakeup.drain()
        return woken or self.is_pending()

    cpdef bint is_pending(self):
        """Return whether an event waits."""
        return load_acquire_i64(&self._slots[self._head & (self._capacity - 1)].sequence) == self._head + 1

    def poll(self, int limit=64) -> list:
        """Return up to `limit` events, oldest first, and let go of what a final event names."""
        cdef EventRecord* record
        cdef object subject
        events = []
        while len(events) < limit and self.is_pending():
            record = &self._slots[self._head & (self._capacity - 1)]
            subject = None if record.subject is NULL else <object><PyObject*>record.subject
            events.append(Event(EventType(record.type), subject, [record.values[i] for i in range(EVENT_VALUES)],
                                address_to(&record.control), address_to(&record.source),
                                record.text[:record.text_length].decode("utf-8", "replace")))
            if record.type & EVENT_FINAL:
                self._held.pop(id(subject), None)
            elif record.type & EVENT_ANSWER:
                self.answered(subject)
            store_release_i64(&record.sequence, self._head + self._capacity)
            store_release_i64(&self._head, self._head + 1)
        return events

    @property
    def held_count(self):
        """Objects kept alive for agents."""
        return len(self._held.keys() | self._awaited.keys())
