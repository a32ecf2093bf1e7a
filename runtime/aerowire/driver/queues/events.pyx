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


class EventType(IntEnum):
    """What happened; docs of each in the conductor's handler table."""

    CREATE_IMAGE = EVENT_CREATE_IMAGE
    IMAGE_LINGER = EVENT_IMAGE_LINGER
    IMAGE_DONE = EVENT_IMAGE_DONE
    IMAGE_REMOVED = EVENT_IMAGE_REMOVED
    PUBLICATION_LINGER = EVENT_PUBLICATION_LINGER
    PUBLICATION_DONE = EVENT_PUBLICATION_DONE
    PUBLICATION_REMOVED = EVENT_PUBLICATION_REMOVED
    SUBSCRIBER_LINKED = EVENT_SUBSCRIBER_LINKED
    SUBSCRIBER_UNLINKED = EVENT_SUBSCRIBER_UNLINKED
    CLIENT_TIMEOUT = EVENT_CLIENT_TIMEOUT
    SEND_ENDPOINT_REMOVED = EVENT_SEND_ENDPOINT_REMOVED
    RECEIVE_ENDPOINT_REMOVED = EVENT_RECEIVE_ENDPOINT_REMOVED
    COMMANDS_BLOCKED = EVENT_COMMANDS_BLOCKED
    PUBLICATION_ERROR = EVENT_PUBLICATION_ERROR
    NATIVE_ERROR = EVENT_NATIVE_ERROR
    RECEIVE_DESTINATION_REMOVED = EVENT_RECEIVE_DESTINATION_REMOVED
    RESPONSE_SETUP = EVENT_RESPONSE_SETUP
    RESPONSE_CONNECTED = EVENT_RESPONSE_CONNECTED
    SEND_NAME_SILENT = EVENT_SEND_NAME_SILENT
    CONTROL_NAME_SILENT = EVENT_CONTROL_NAME_SILENT
    SUBSCRIBER_UNAVAILABLE = EVENT_SUBSCRIBER_UNAVAILABLE
    SUBSCRIBER_AVAILABLE = EVENT_SUBSCRIBER_AVAILABLE
    SUBSCRIBER_DROPPED = EVENT_SUBSCRIBER_DROPPED
    COOL_DOWN_OVER = EVENT_COOL_DOWN_OVER
    MALFORMED_FRAME = EVENT_MALFORMED_FRAME


class NativeErrorCode(IntEnum):
    """What an agent could not do."""

    SEND_FAILED = ERROR_SEND_FAILED
    RECEIVE_FAILED = ERROR_RECEIVE_FAILED
    SESSION_LIMIT = ERROR_SESSION_LIMIT
    TABLE_FULL = ERROR_TABLE_FULL
    IMAGE_LIMIT = ERROR_IMAGE_LIMIT
    IMAGE_RATE = ERROR_IMAGE_RATE
    SETUP_REQUESTS = ERROR_SETUP_REQUESTS
    RECEIVERS_FULL = ERROR_RECEIVERS_FULL
    RETRANSMIT_RATE = ERROR_RETRANSMIT_RATE
    END_DISBELIEVED = ERROR_END_DISBELIEVED

    @property
    def text(self):
        """What happened, in words."""
        return ERROR_TEXTS.get(self, self.name.lower().replace("_", " "))


ERROR_TEXTS = {
    NativeErrorCode.SESSION_LIMIT: "too many sessions of a stream (aeron.driver.stream.session.limit)",
    NativeErrorCode.IMAGE_LIMIT: "too many images of an endpoint (aeron.receiver.image.limit)",
    NativeErrorCode.IMAGE_RATE: "too many new images in a second (aeron.receiver.image.rate)",
    NativeErrorCode.SETUP_REQUESTS: "too many unknown sessions in a second, not asked for their set-up",
    NativeErrorCode.RECEIVERS_FULL: "too many receivers of a publication, further ones are not waited for",
    NativeErrorCode.RETRANSMIT_RATE: "too many bytes to send again in a second (aeron.retransmit.byte.rate)",
    NativeErrorCode.END_DISBELIEVED: "an end of a stream that other frames of the stream contradict",
}


FIELDS = {
    EventType.CREATE_IMAGE: ("session_id", "stream_id", "initial_term_id", "active_term_id", "term_offset", "term_length", "mtu", "flags",
                             "ttl", "transport_index"),
    EventType.PUBLICATION_LINGER: ("revoked",),
    EventType.SUBSCRIBER_LINKED: ("position_id", "position", "registration_id", "accepted"),
    EventType.SUBSCRIBER_UNLINKED: ("position_id", "registration_id"),
    EventType.CLIENT_TIMEOUT: ("client_id", "heartbeat_counter_id", "closed"),
    EventType.PUBLICATION_ERROR: ("receiver_id", "group_tag", "error_code", "destination_registration_id"),
    EventType.RESPONSE_SETUP: ("response_session_id",),
    EventType.CONTROL_NAME_SILENT: ("transport_index",),
    EventType.SEND_NAME_SILENT: ("destination_registration_id",),
    EventType.NATIVE_ERROR: ("code", "a", "b"),
    EventType.SUBSCRIBER_UNAVAILABLE: ("position_id", "registration_id"),
    EventType.SUBSCRIBER_AVAILABLE: ("position_id", "registration_id", "position"),
    EventType.SUBSCRIBER_DROPPED: ("position_id", "registration_id"),
    EventType.MALFORMED_FRAME: ("position", "frame_length", "room"),
}
NO_FIELDS = ()
ANSWERS = frozenset({EVENT_SUBSCRIBER_LINKED, EVENT_SUBSCRIBER_UNLINKED, EVENT_RECEIVE_DESTINATION_REMOVED})
FINAL = frozenset({EVENT_IMAGE_REMOVED, EVENT_PUBLICATION_REMOVED, EVENT_SEND_ENDPOINT_REMOVED, EVENT_RECEIVE_ENDPOINT_REMOVED})


class Event:
    """One event: `type`, `subject` and the attributes that FIELDS names for its type; addresses are (host, port) or None."""

    def __init__(self, type, subject, values, control_address, source_address, message):
        self.type = type
        self.subject = subject
        self.control_address = control_address
        self.source_address = source_address
        self.message = message
        self.__dict__.update(zip(FIELDS.get(type, NO_FIELDS), values))

    def describe(self):
        """Return one line for the error log and for debugging."""
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in FIELDS.get(self.type, NO_FIELDS))
        if self.type == EventType.NATIVE_ERROR:
            import os

            code = NativeErrorCode(self.code)
            what = code.text
            where = getattr(self.subject, "channel", None) or type(self.subject).__name__
            detail = os.strerror(self.a) if code in (NativeErrorCode.SEND_FAILED, NativeErrorCode.RECEIVE_FAILED) else f"stream {self.a} session {self.b}"
            return f"{what}: {detail} at {where}"
        return f"{self.type.name}({fields})"

    __repr__ = describe


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
            if record.type in FINAL:
                self._held.pop(id(subject), None)
            elif record.type in ANSWERS:
                self.answered(subject)
            store_release_i64(&record.sequence, self._head + self._capacity)
            store_release_i64(&self._head, self._head + 1)
        return events

    @property
    def held_count(self):
        """Objects kept alive for agents."""
        return len(self._held.keys() | self._awaited.keys())
