# What agents tell the conductor: the events of the driver, and their records in a ring.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.agents.event_ring cimport EVENT_ANSWER, EVENT_FINAL, EventHeader, EventRing
from aerowire.base.address cimport Address
from aerowire.codecs.native.transport cimport ERROR_TEXT_LENGTH_MAX

# Every event, declared here alone: EventType has it as CREATE_IMAGE. The conductor's handler has the same name, and its parameters
# are the record's values in order (conductor/agent_events.py).
cpdef enum EventCode:
    EVENT_CREATE_IMAGE = 1
    EVENT_IMAGE_LINGER = 2
    EVENT_IMAGE_DONE = 3
    EVENT_IMAGE_REMOVED = 4 | EVENT_FINAL
    EVENT_PUBLICATION_LINGER = 5
    EVENT_PUBLICATION_DONE = 6
    EVENT_PUBLICATION_REMOVED = 7 | EVENT_FINAL
    EVENT_SUBSCRIBER_LINKED = 8 | EVENT_ANSWER
    EVENT_SUBSCRIBER_UNLINKED = 9 | EVENT_ANSWER
    EVENT_CLIENT_TIMEOUT = 10
    EVENT_SEND_ENDPOINT_REMOVED = 11 | EVENT_FINAL
    EVENT_RECEIVE_ENDPOINT_REMOVED = 12 | EVENT_FINAL
    EVENT_COMMANDS_BLOCKED = 13
    EVENT_PUBLICATION_ERROR = 14
    EVENT_NATIVE_ERROR = 15
    EVENT_RECEIVE_DESTINATION_REMOVED = 16 | EVENT_ANSWER
    EVENT_RESPONSE_SETUP = 17
    EVENT_RESPONSE_CONNECTED = 18
    EVENT_SEND_NAME_SILENT = 19
    EVENT_CONTROL_NAME_SILENT = 20
    EVENT_SUBSCRIBER_UNAVAILABLE = 21
    EVENT_SUBSCRIBER_AVAILABLE = 22
    EVENT_SUBSCRIBER_DROPPED = 23
    EVENT_COOL_DOWN_OVER = 24
    EVENT_MALFORMED_FRAME = 25

# What an agent could not do: NativeErrorCode has it as SEND_FAILED. `a` and `b` of the event are an errno and 0 for the first two, else
# a stream and a session.
cpdef enum NativeError:
    ERROR_SEND_FAILED = 1
    ERROR_RECEIVE_FAILED = 2
    ERROR_SESSION_LIMIT = 3
    ERROR_TABLE_FULL = 4
    ERROR_IMAGE_LIMIT = 5
    ERROR_IMAGE_RATE = 6
    ERROR_SETUP_REQUESTS = 7
    ERROR_RECEIVERS_FULL = 8
    ERROR_RETRANSMIT_RATE = 9
    ERROR_END_DISBELIEVED = 10

cdef enum:
    ERROR_CODES_MAX = 16        # more than there are

cdef enum:
    EVENT_VALUES = 9
    EVENT_RESERVE = 256         # free slots that news from the network leaves to others: peers repeat what was not heard
    EVENT_TIMER_RESERVE = 128   # free slots that timers leave: they try again at the next tick

cdef struct EventRecord:
    EventHeader header
    int32_t text_length
    int64_t values[EVENT_VALUES]
    Address control
    Address source
    uint8_t text[ERROR_TEXT_LENGTH_MAX + 1]


@cython.final
cdef class EventQueue(EventRing):
    """Producers: any agent, without the lock. Consumer: the conductor."""

    cdef EventRecord* claim(self, int event_type, void* subject) noexcept nogil     # NULL: full. Fill, then publish.
    cdef bint offer_or_retry(self, int event_type, void* subject, int64_t a, int64_t b) noexcept nogil   # False: again at the next tick
    cdef bint offer(self, int event_type, void* subject, int64_t a, int64_t b) noexcept nogil
    cdef bint has_room(self) noexcept nogil             # for an event that can be repeated later
    cdef bint report(self, void* subject, int code, int64_t a, int64_t b) noexcept nogil    # NATIVE_ERROR

    cdef inline void publish(self, EventRecord* record) noexcept nogil:
        self.publish_record(&record.header)

    cdef inline bint has_timer_room(self) noexcept nogil:
        return self.free_records() > EVENT_TIMER_RESERVE
