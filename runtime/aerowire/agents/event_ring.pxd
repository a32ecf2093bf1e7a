# What native agents tell their conductor: a bounded ring of records with many producers, one consumer and a wake-up.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.memory.atomics cimport load_acquire_i64, load_relaxed_i64
from aerowire.system.wakeup cimport Wakeup

# Flags of an event's code.
cdef enum:
    EVENT_ANSWER = 1 << 8       # to one command: the ring held its subject until then
    EVENT_FINAL = 1 << 9        # the last of its subject, which the ring has held

cdef enum:
    ANSWER_RESERVE = 64         # no agent takes a command with fewer free records: its answer finds room, whatever the other agents post

# What every record begins with; the struct of a ring's user goes on behind it.
cdef struct EventHeader:
    int64_t sequence            # of the record's place in the ring; see EventRing
    int32_t code                # the user's number of the event, with the flags above
    void* subject               # borrowed, held by the ring until its final event; NULL: none


cdef class EventRing:
    """Producers: any agent, without the interpreter lock. Consumer: the conductor. Subclasses call `set_up` and override `event_of`."""

    cdef uint8_t* _records
    cdef int64_t _record_length
    cdef int64_t _capacity
    cdef int64_t _head
    cdef int64_t _tail
    cdef int64_t _refused
    cdef int64_t* failed_offers             # a counter of refused events beside `refused_count`, or NULL
    cdef Wakeup _wakeup
    cdef dict _held                         # id -> [object, count]: until its final event
    cdef dict _awaited                      # the same for answers to single commands, which may come after the final event

    # Once, in the constructor: `record_length` is the size of the user's struct.
    @cython.final
    cdef int set_up(self, int64_t record_length, int64_t capacity) except -1
    # The object for a record, which the conductor's `poll` returns. Header and record are valid during the call alone.
    cdef object event_of(self, const EventHeader* header, object subject)

    # NULL: full, and counted. Fill in what is behind the header, then publish; nothing behind it is published before.
    # An event that can be posted again later leaves room for those that cannot: it looks at free_records() first.
    @cython.final
    cdef EventHeader* claim_record(self, int32_t code, void* subject) noexcept nogil
    @cython.final
    cdef void publish_record(self, EventHeader* header) noexcept nogil
    @cython.final
    cdef void count_refusal(self) noexcept nogil        # of an event that was not offered: it will be repeated
    @cython.final
    cdef void signal(self) noexcept nogil

    @cython.final
    cdef inline int64_t free_records(self) noexcept nogil:
        return self._capacity - (load_relaxed_i64(&self._tail) - load_acquire_i64(&self._head))

    @cython.final
    cdef inline bint can_answer(self) noexcept nogil:   # before a command whose answer cannot be posted later
        return self.free_records() > ANSWER_RESERVE

    @cython.final
    cdef inline EventHeader* record_at(self, int64_t ticket) noexcept nogil:
        return <EventHeader*>(self._records + (ticket & (self._capacity - 1)) * self._record_length)

    # ---- the conductor's

    @cython.final
    cdef int hold(self, object subject) except -1       # keep until its final event was polled, once for all agents
    @cython.final
    cdef int let_go(self, object subject) except -1     # undo a hold whose command was refused
    @cython.final
    cdef int await_answer(self, object subject) except -1
    @cython.final
    cdef int answered(self, object subject) except -1
    @cython.final
    cdef bint has_event(self) noexcept nogil
    # The oldest event, which counts as polled; NULL: none. For a subclass whose records own memory, as the ring ends.
    @cython.final
    cdef EventHeader* skip_event(self) noexcept nogil
    # Sleep until something is published or signalled, at most so long, and forget the signal; an event may be there all the same.
    @cython.final
    cdef void rest(self, int64_t timeout_ns) noexcept nogil
