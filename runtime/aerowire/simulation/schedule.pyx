"""Which process of a world runs next: drawn from the seed among those with something to do.

A process has a turn of its own when a datagram has come for it, when a deadline is reached, and when it was woken; it has another one after
each that did something, and so have all processes of its host, since they share memory and nothing tells what is written there. What a
turn does is not always reported: a turn of its own that did nothing is followed by a look of the process, whose agents may have work
for each other, and of its neighbours. A look that finds no work is followed by nothing. A process may do without looks after turns of
its neighbours, if it is woken for work, and finds at its next deadline what it was not woken for.
"""

from libc.stdint cimport INT64_MAX, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

cimport cython

from aerowire.base.ports cimport ClockPort
from aerowire.memory.growing cimport grow
from aerowire.simulation.digest cimport digest_number
from aerowire.simulation.host_clock cimport HostClock
from aerowire.simulation.network cimport Inbox, SimulatedNetwork
from aerowire.system.random cimport SeededRandom

cdef int PROCESSES_MAX = 1 << 20        # that one world ever has
cdef int TURNS_AT_ONE_TIME = 1_000      # of one process; more means that it works without end
# Until a process looks again that left a datagram unread or a deadline past: longer each time that it finds nothing to do.
cdef int64_t LOOK_NS_MIN = 50_000
cdef int64_t LOOK_NS_MAX = 10_000_000


@cython.final
cdef class Schedule:
    """Processes by number. Changed by the world alone, between turns.

    Invariant: a process that is paused, gone or within a turn that takes time is never picked.
    """

    def __cinit__(self, ClockPort clock not None, SimulatedNetwork network not None, *, seed):
        self._clock = clock
        self._network = network
        self._random = SeededRandom(seed)
        self._parts = []
        self._now_ns = clock.nano_time()

    def __dealloc__(self):
        free(self._entries)

    def add(self, process, work, deadline=None, *, int host, Inbox inbox=None, HostClock clock=None, bint looks=True) -> int:
        """Add a process and return its number, which was perhaps that of one that is gone. It has something to do at once.

        `host` is a number, or ANY_HOST for a process that sees the memory of all. `work` is called in each turn and returns how much was done;
        `deadline` returns when there may be more if nothing comes, by `clock`, or in true time without one. Without deadlines the process
        has a turn whenever time has passed. One that `looks` has a turn after each of another process of its host that may have changed
        something and did not report it.
        """
        cdef int number = 0
        cdef Entry* entry
        while number < self._count and not self._entries[number].is_gone:
            number += 1
        if number == self._count:
            if number == self._capacity and not grow(<void**>&self._entries, &self._capacity, sizeof(Entry), PROCESSES_MAX):
                raise MemoryError("process table")
            self._parts.append(None)
            self._count += 1
        self._parts[number] = (process, work, deadline, clock, inbox)
        entry = &self._entries[number]
        memset(entry, 0, sizeof(Entry))
        entry.host = host
        entry.inbox = <void*>inbox if inbox is not None else NULL
        entry.is_polled = deadline is None
        entry.looks = looks
        entry.due_ns = entry.next_look_ns = INT64_MAX
        entry.stir = STIR_OWN
        return number

    def remove(self, int number) -> None:
        """Let a process run no more, and forget it."""
        self._entry(number).is_gone = True
        self._entry(number).inbox = NULL
        self._parts[number] = None

    def pause(self, int number) -> None:
        """Let a process not run until it is resumed; time and datagrams go on."""
        self._entry(number).is_paused = True

    def resume(self, int number) -> None:
        """Let a paused process go on."""
        self._entry(number).is_paused = False
        self.wake(number)

    def slow(self, int number, int64_t turn_ns) -> None:
        """Let each turn with work take `turn_ns` of true time before the next one; 0 for none."""
        self._entry(number).turn_ns = turn_ns
        self._entry(number).ready_ns = min(self._entry(number).ready_ns, self._clock.nano_time() + turn_ns)

    def wake(self, int number) -> None:
        """Give a process a turn."""
        self._entry(number).stir = STIR_OWN

    def wake_all(self) -> None:
        """Give every process a turn: the caller may have changed anything."""
        cdef int number
        for number in range(self._count):
            self._entries[number].stir = STIR_OWN

    def settle(self) -> None:
        """Let packets arrive and processes run until none has anything to do at this time. RuntimeError when one works without end."""
        cdef int number = self._pick()
        while number >= 0:
            self._run(number)
            number = self._pick()

    def next_ns(self) -> int:
        """Return the true time at which a process has something to do again or a packet arrives, 2^63-1 for never; after settle()."""
        cdef int64_t next_ns = self._network.next_arrival()
        cdef Entry* entry
        cdef int number
        for number in range(self._count):
            entry = &self._entries[number]
            if entry.is_gone or entry.is_paused:
                continue
            if self._is_due(entry):
                next_ns = min(next_ns, entry.ready_ns)
            else:
                next_ns = min(next_ns, max(min(entry.due_ns, entry.next_look_ns), entry.ready_ns))
        return next_ns

    def turns(self, int number) -> int:
        """Return how many turns a process has had."""
        return self._entry(number).turns

    @property
    def trace_hash(self) -> int:
        """Digest of which process ran when."""
        return self._digest

    cdef int _run(self, int number) except -1:
        cdef tuple parts = self._parts[number]
        cdef int64_t work_count, deadline_ns
        if self._entries[number].turns_at_one_time > TURNS_AT_ONE_TIME:
            raise RuntimeError(f"no rest after {TURNS_AT_ONE_TIME} cycles at {self._now_ns} ns: {parts[0]!r}")
        work_count = parts[1]()
        if self._parts[number] is not parts:    # it has ended itself
            return 0
        if work_count > 0:
            self._on_work(number)
            return 0
        deadline_ns = INT64_MAX
        if parts[2] is not None:
            deadline_ns = parts[2]()
            if parts[3] is not None:
                deadline_ns = (<HostClock>parts[3]).true_time_of(deadline_ns)
        self._on_rest(number, deadline_ns)
        return 0

    cdef void _on_work(self, int number) noexcept nogil:
        cdef Entry* entry = &self._entries[number]
        entry.stir = max(entry.stir, <int>STIR_LOOK)
        entry.look_ns = 0
        if entry.turn_ns:
            entry.ready_ns = self._clock.nano_time() + entry.turn_ns
        self._stir_others(number, STIR_SHARED)

    cdef void _on_rest(self, int number, int64_t deadline_ns) noexcept nogil:
        cdef Entry* entry = &self._entries[number]
        cdef int64_t now_ns = self._clock.nano_time()
        entry.due_ns = deadline_ns if deadline_ns > now_ns else INT64_MAX
        if deadline_ns <= now_ns or (entry.inbox is not NULL and (<Inbox>entry.inbox).unread > 0):
            if entry.look_ns == 0 or entry.looked_ns != now_ns:     # the second look at one time finds no more than the first
                entry.look_ns = min(max(2 * entry.look_ns, LOOK_NS_MIN), LOOK_NS_MAX)
            entry.looked_ns = now_ns
            entry.next_look_ns = now_ns + entry.look_ns
        else:
            entry.look_ns = 0
            entry.next_look_ns = INT64_MAX
        if entry.inbox is not NULL and (<Inbox>entry.inbox).unread < entry.unread_before:
            entry.stir_of_turn = STIR_OWN           # it has read, though it was only to look
        if entry.stir_of_turn == STIR_OWN:
            entry.stir = max(entry.stir, <int>STIR_LOOK)
        if entry.stir_of_turn != STIR_LOOK:
            self._stir_others(number, STIR_LOOK)

    cdef int _pick(self) noexcept nogil:
        cdef int64_t now_ns = self._clock.nano_time()
        cdef Entry* entry
        cdef int ready = 0
        cdef int number, chosen
        self._network.arrive()
        if now_ns != self._now_ns:
            self._on_time(now_ns)
        for number in range(self._count):
            entry = &self._entries[number]
            if not entry.is_gone and not entry.is_paused and entry.ready_ns <= now_ns and self._is_due(entry):
                ready += 1
        if ready == 0:
            return -1
        chosen = <int>self._random.next_below(ready) if ready > 1 else 0
        for number in range(self._count):
            entry = &self._entries[number]
            if not entry.is_gone and not entry.is_paused and entry.ready_ns <= now_ns and self._is_due(entry):
                if chosen == 0:
                    break
                chosen -= 1
        self._begin(number)
        return number

    cdef void _begin(self, int number) noexcept nogil:
        cdef Entry* entry = &self._entries[number]
        cdef bint has_own_reason = entry.due_ns <= self._now_ns or has_arrivals(entry)
        entry.stir_of_turn = STIR_OWN if has_own_reason else max(entry.stir, <int>STIR_LOOK)
        entry.stir = STIR_NONE
        entry.due_ns = entry.next_look_ns = INT64_MAX
        if has_arrivals(entry):
            entry.look_ns = 0
        if entry.inbox is not NULL:
            entry.seen_arrivals = (<Inbox>entry.inbox).arrivals
            entry.unread_before = (<Inbox>entry.inbox).unread
        entry.turns += 1
        entry.turns_at_one_time += 1
        self._digest = digest_number(digest_number(self._digest, <uint64_t>number), <uint64_t>self._now_ns)

    cdef bint _is_due(self, const Entry* entry) noexcept nogil:
        return entry.stir != STIR_NONE or entry.due_ns <= self._now_ns or entry.next_look_ns <= self._now_ns or has_arrivals(entry)

    cdef void _on_time(self, int64_t now_ns) noexcept nogil:
        cdef int number
        self._now_ns = now_ns
        for number in range(self._count):
            self._entries[number].turns_at_one_time = 0
            if self._entries[number].is_polled and self._entries[number].stir == STIR_NONE:
                self._entries[number].stir = STIR_LOOK

    cdef void _stir_others(self, int number, int stir) noexcept nogil:
        cdef int host = self._entries[number].host
        cdef int other
        for other in range(self._count):
            if stir == STIR_LOOK and not self._entries[other].looks:
                continue
            if other != number and (host == ANY_HOST or self._entries[other].host in (host, <int>ANY_HOST)):
                self._entries[other].stir = max(self._entries[other].stir, stir)

    cdef Entry* _entry(self, int number) except NULL:
        if not 0 <= number < self._count:
            raise IndexError(f"process: expected 0 to {self._count - 1}, actual {number}")
        return &self._entries[number]


cdef bint has_arrivals(const Entry* entry) noexcept nogil:
    return entry.inbox is not NULL and (<Inbox>entry.inbox).arrivals != entry.seen_arrivals
