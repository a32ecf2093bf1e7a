# What agents tell the conductor: a bounded queue with many producers, one consumer and a wake-up.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.codecs.native.transport cimport ERROR_TEXT_LENGTH_MAX
from aerowire.system.wakeup cimport Wakeup

# Every event, declared here alone: EventType has it as CREATE_IMAGE. The conductor's handler has the same name, and its parameters
# are the record's values in order (conductor/agent_events.py).
cdef enum:
    EVENT_ANSWER = 1 << 8       # to one command: the queue held its subject until then
    EVENT_FINAL = 1 << 9        # the last of its subject, which the queue has held

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
    EVENT_ANSWER_RESERVE = 64   # no agent takes a command with fewer free: answers, 16 a cycle of each agent, always find room

cdef struct EventRecord:
    int64_t sequence            # of the slot; see EventQueue
    int32_t type
    int32_t text_length
    void* subject               # borrowed, held by the queue until its final event
    int64_t values[EVENT_VALUES]
    Address control
    Address source
    uint8_t text[ERROR_TEXT_LENGTH_MAX + 1]


@cython.final
cdef class EventQueue:
    """Producers: any agent, without the lock. Consumer: the conductor."""

    cdef EventRecord* _slots
    cdef int64_t _capacity
    cdef int64_t _head
    cdef int64_t _tail
    cdef int64_t* failed_offers
    cdef Wakeup _wakeup
    cdef dict _held                         # id -> [object, count]: until its final event
    cdef dict _awaited                      # the same for answers to single commands, which may come after the final event

    cdef EventRecord* claim(self, int event_type, void* subject) noexcept nogil     # NULL: full. Fill, then publish.
    cdef void publish(self, EventRecord* record) noexcept nogil
    cdef bint offer_or_retry(self, int event_type, void* subject, int64_t a, int64_t b) noexcept nogil   # False: again at the next tick
    cdef bint offer(self, int event_type, void* subject, int64_t a, int64_t b) noexcept nogil
    cdef int64_t free_slots(self) noexcept nogil
    cdef bint has_room(self) noexcept nogil             # for an event that can be repeated later
    cdef bint has_timer_room(self) noexcept nogil
    cdef void count_refusal(self) noexcept nogil        # of an event that was not offered: it will be repeated
    cdef bint can_answer(self) noexcept nogil           # for a command whose answer cannot
    cdef void signal(self) noexcept nogil
    cdef int hold(self, object subject) except -1       # keep until its final event was polled, once for all agents
    cdef int await_answer(self, object subject) except -1
    cdef int answered(self, object subject) except -1
    cdef int let_go(self, object subject) except -1     # undo a hold whose command was refused
    cpdef bint is_pending(self)
    cdef bint report(self, void* subject, int code, int64_t a, int64_t b) noexcept nogil    # NATIVE_ERROR
