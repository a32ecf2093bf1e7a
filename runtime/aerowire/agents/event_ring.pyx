"""What native agents tell their conductor: a bounded ring of records with many producers, one consumer and a wake-up.

Agents write records of a struct of their own that begins with an EventHeader; only the conductor turns them into Python objects. The ring
keeps alive what it was told to hold, because agents have borrowed pointers alone. It knows no event but by the flags of its code.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

cimport cython

from aerowire.ipc.counters cimport counter_atomic_add
from aerowire.memory.atomics cimport cas_i64, fetch_add_i64, load_acquire_i64, load_relaxed_i64, store_release_i64
from aerowire.system.wakeup cimport Wakeup


cdef class EventRing:
    """A ring of places with sequence numbers: a place is free for ticket t when its sequence is t, full when it is t + 1.

    Invariant: head <= tail <= head + capacity. What does not fit is counted.
    """

    def __cinit__(self):
        self._wakeup = Wakeup()
        self._held = {}
        self._awaited = {}

    def __dealloc__(self):
        free(self._records)

    @cython.final
    cdef int set_up(self, int64_t record_length, int64_t capacity) except -1:
        cdef int64_t i
        if record_length < <int64_t>sizeof(EventHeader) or record_length % <int64_t>sizeof(int64_t):
            raise ValueError(f"record of an event: expected a multiple of 8 of at least {sizeof(EventHeader)} bytes, actual {record_length}")
        if capacity < 2 * ANSWER_RESERVE or capacity & (capacity - 1):
            raise ValueError(f"event ring capacity: expected a power of two of at least {2 * ANSWER_RESERVE}, actual {capacity}")
        self._records = <uint8_t*>calloc(capacity, record_length)
        if self._records is NULL:
            raise MemoryError
        self._record_length = record_length
        self._capacity = capacity
        for i in range(capacity):
            self.record_at(i).sequence = i
        return 0

    cdef object event_of(self, const EventHeader* header, object subject):
        return header.code, subject

    @cython.final
    cdef EventHeader* claim_record(self, int32_t code, void* subject) noexcept nogil:
        cdef int64_t ticket, sequence
        cdef EventHeader* header
        while True:
            ticket = load_relaxed_i64(&self._tail)
            header = self.record_at(ticket)
            sequence = load_acquire_i64(&header.sequence)
            if sequence == ticket:
                if cas_i64(&self._tail, ticket, ticket + 1):
                    header.code = code
                    header.subject = subject
                    return header
            elif sequence < ticket:
                self.count_refusal()
                return NULL

    @cython.final
    cdef void publish_record(self, EventHeader* header) noexcept nogil:
        store_release_i64(&header.sequence, header.sequence + 1)
        self._wakeup.signal()

    @cython.final
    cdef void count_refusal(self) noexcept nogil:
        fetch_add_i64(&self._refused, 1)
        if self.failed_offers is not NULL:
            counter_atomic_add(self.failed_offers, 1)

    @cython.final
    cdef void signal(self) noexcept nogil:
        self._wakeup.signal()

    @cython.final
    cdef bint has_event(self) noexcept nogil:
        return self._capacity > 0 and load_acquire_i64(&self.record_at(self._head).sequence) == self._head + 1

    @cython.final
    cdef EventHeader* skip_event(self) noexcept nogil:
        if not self.has_event():
            return NULL
        self._head += 1
        return self.record_at(self._head - 1)

    @cython.final
    cdef void rest(self, int64_t timeout_ns) noexcept nogil:
        self._wakeup.wait_ns_nogil(timeout_ns)
        self._wakeup.forget()

    @cython.final
    cdef int hold(self, object subject) except -1:
        entry = self._held.setdefault(id(subject), [subject, 0])
        entry[1] += 1
        return 0

    @cython.final
    cdef int let_go(self, object subject) except -1:
        entry = self._held[id(subject)]
        entry[1] -= 1
        if not entry[1]:
            del self._held[id(subject)]
        return 0

    @cython.final
    cdef int await_answer(self, object subject) except -1:
        entry = self._awaited.setdefault(id(subject), [subject, 0])
        entry[1] += 1
        return 0

    @cython.final
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
        cdef bint woken = self.has_event()
        if not woken:
            woken = self._wakeup.wait(timeout_ns / 1e9)
        self._wakeup.drain()
        return woken or self.has_event()

    def is_pending(self) -> bool:
        """Return whether an event waits."""
        return self.has_event()

    def poll(self, int limit=64) -> list:
        """Return up to `limit` events, oldest first, and let go of what a final event names."""
        cdef EventHeader* header
        cdef object subject
        events = []
        while len(events) < limit and self.has_event():
            header = self.record_at(self._head)
            subject = None if header.subject is NULL else <object><PyObject*>header.subject
            events.append(self.event_of(header, subject))
            if header.code & EVENT_FINAL:
                self._held.pop(id(subject), None)
            elif header.code & EVENT_ANSWER:
                self.answered(subject)
            store_release_i64(&header.sequence, self._head + self._capacity)
            store_release_i64(&self._head, self._head + 1)
        return events

    @property
    def held_count(self) -> int:
        """Objects kept alive for agents."""
        return len(self._held.keys() | self._awaited.keys())

    @property
    def refused_count(self) -> int:
        """Events that the ring had no room for; an event that is offered again counts each time."""
        return load_relaxed_i64(&self._refused)
