"""A native agent as a user of the package writes it: operations, events and records of its own, built from the .pxd files alone.

It counts the turns of the items that it was given, and adds up numbers when it is asked. `broken` counts items that were freed before their time.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t

cimport cython

from aerowire.agents.command_queue cimport Command
from aerowire.agents.duty_cycle cimport DutyCycle, duty_cycle_measure, duty_cycle_start
from aerowire.agents.event_ring cimport EVENT_ANSWER, EVENT_FINAL, EventHeader, EventRing
from aerowire.agents.pointer_array cimport PointerArray
from aerowire.agents.queued_agent cimport QueuedAgent
from aerowire.base.ports cimport ClockPort

# Operations.
cpdef enum:
    ADD_ITEM
    REMOVE_ITEM
    ADD_NUMBERS
    POST_TICKS

# Events.
cpdef enum:
    ITEM_REMOVED = 1 | EVENT_FINAL
    NUMBERS_ADDED = 2 | EVENT_ANSWER
    TICK = 3

cdef enum:
    ALIVE = 0x600D

cdef struct TallyRecord:
    EventHeader header
    int64_t value


@cython.final
cdef class Item:
    """What the agent works on."""

    cdef int64_t state
    cdef int64_t turns
    cdef readonly int64_t number
    cdef object __weakref__

    def __cinit__(self, int64_t number=0):
        self.state = ALIVE
        self.number = number

    def __dealloc__(self):
        self.state = 0

    cdef bint take_turn(self) noexcept nogil:
        self.turns += 1
        return self.state == ALIVE


@cython.final
cdef class TallyRing(EventRing):
    """Events of tally agents: (code, subject, value)."""

    def __cinit__(self, int64_t capacity=128, int64_t record_length=sizeof(TallyRecord)):
        self.set_up(record_length, capacity)

    cdef object event_of(self, const EventHeader* header, object subject):
        return header.code, subject, (<const TallyRecord*>header).value

    def count_in(self, int64_t[::1] counter):
        """Count refused events in another place too, which the caller keeps."""
        self.failed_offers = &counter[0]


@cython.final
cdef class HeaderRing(EventRing):
    """Events of a header alone."""

    def __cinit__(self):
        self.set_up(sizeof(EventHeader), 128)

    def post(self, int32_t code, subject):
        """Post an event as an agent would."""
        cdef EventHeader* header = self.claim_record(code, <void*>subject)
        if header is not NULL:
            self.publish_record(header)
        return header is not NULL


@cython.final
cdef class Tally(QueuedAgent):
    """Takes commands at the top of its cycle, then gives each item a turn."""

    cdef TallyRing _events_of_tally
    cdef ClockPort _clock
    cdef PointerArray _items
    cdef DutyCycle _cycle
    cdef int64_t _longest_ns
    cdef int64_t _too_long
    cdef readonly int64_t broken
    cdef readonly int64_t lost              # answers that found no room

    def __cinit__(self, TallyRing events not None, ClockPort clock not None, int64_t threshold_ns=1_000_000):
        self.set_up_queues(events)
        self._events_of_tally = events
        self._clock = clock
        self._items = PointerArray()
        self._cycle = DutyCycle(0, threshold_ns, &self._longest_ns, &self._too_long)

    @property
    def role_name(self) -> str:
        return "tally"

    @property
    def items(self) -> list:
        """Numbers of the items in the agent's order; while it does not run."""
        return [(<Item>self._items.items[i]).number for i in range(self._items.count)]

    @property
    def cycles(self) -> tuple:
        """The longest cycle, and those over the threshold."""
        return self._longest_ns, self._too_long

    cdef void on_start(self) noexcept nogil:
        duty_cycle_start(&self._cycle, self._clock.nano_time())

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int taken
        cdef int i
        duty_cycle_measure(&self._cycle, now_ns)
        taken = self.take_commands(now_ns)
        for i in range(self._items.count):
            self.broken += not (<Item>self._items.items[i]).take_turn()
        return taken

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        return INT64_MAX

    cdef bint is_dormant(self) noexcept nogil:
        return self._items.count == 0 and self.commands.is_empty()

    cdef void on_command(self, Command* command, int64_t now_ns) noexcept nogil:
        cdef int i
        if command.operation == ADD_ITEM:
            self._items.add(command.subject)
        elif command.operation == REMOVE_ITEM:
            if self._items.remove(command.subject):
                self._post(ITEM_REMOVED, command.subject, (<Item>command.subject).turns)
        elif command.operation == ADD_NUMBERS:
            self._post(NUMBERS_ADDED, command.subject, command.a + command.b + command.value)
        elif command.operation == POST_TICKS:
            for i in range(command.a):
                self._post(TICK, NULL, command.value + i)

    cdef void _post(self, int32_t code, void* subject, int64_t value) noexcept nogil:
        cdef TallyRecord* record = <TallyRecord*>self._events_of_tally.claim_record(code, subject)
        if record is NULL:
            self.lost += code != TICK
            return
        record.value = value
        self._events_of_tally.publish_record(&record.header)


def run_on_array(operations) -> list:
    """Apply operations to an array of pointers: a number adds itself, a negative one removes its opposite, (index,) removes there.

    Return the array, and a refusal as None in its place of a second list.
    """
    cdef PointerArray array = PointerArray()
    cdef int64_t number
    results = []
    for operation in operations:
        if isinstance(operation, tuple):
            array.remove_at(operation[0])
        else:
            number = operation
            results.append(array.add(<void*>number) if number > 0 else array.remove(<void*>-number))
    return [[<int64_t>array.items[i] for i in range(array.count)], results]


def fill_array(int64_t count) -> tuple:
    """Add that many pointers; return how many were taken, and whether the last is at its place."""
    cdef PointerArray array = PointerArray()
    cdef int64_t i
    for i in range(count):
        if not array.add(<void*>(i + 1)):
            break
    return array.count, <int64_t>array.items[array.count - 1] == array.count
