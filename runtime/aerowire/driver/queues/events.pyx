"""What agents tell the conductor: the events of the driver, and their records in a ring.

Agents write fixed records; only the conductor turns them into Python objects.
"""

from libc.stdint cimport int64_t

cimport cython

from enum import IntEnum

from aerowire.base.address cimport address_to


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
cdef class EventQueue(EventRing):
    """A ring of EventRecords. News from the network, timers and answers leave room for each other, in this order."""

    def __cinit__(self, int64_t capacity=1024):
        if capacity < 2 * EVENT_RESERVE or capacity & (capacity - 1):
            raise ValueError(f"event queue capacity: expected a power of two of at least {2 * EVENT_RESERVE}, actual {capacity}")
        self.set_up(sizeof(EventRecord), capacity)

    cdef object event_of(self, const EventHeader* header, object subject):
        cdef const EventRecord* record = <const EventRecord*>header
        return Event(EventType(header.code), subject, [record.values[i] for i in range(EVENT_VALUES)], address_to(&record.control),
                     address_to(&record.source), record.text[:record.text_length].decode("utf-8", "replace"))

    cdef EventRecord* claim(self, int event_type, void* subject) noexcept nogil:
        cdef EventRecord* record = <EventRecord*>self.claim_record(event_type, subject)
        if record is not NULL:
            record.text_length = 0
            record.control.length = 0
            record.source.length = 0
        return record

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

    cdef bint has_room(self) noexcept nogil:
        # The caller has something to post, and will ask again: that it could not is a failed offer, as it is for the official driver.
        if self.free_records() > EVENT_RESERVE:
            return True
        self.count_refusal()
        return False
