# Which process of a world runs next, and when there is something to do again.

cimport cython
from libc.stdint cimport int64_t, uint64_t
from aerowire.base.ports cimport ClockPort
from aerowire.simulation.network cimport Inbox, SimulatedNetwork
from aerowire.system.random cimport SeededRandom

# Why a process is to run.
cdef enum Stir:
    STIR_NONE = 0
    STIR_LOOK = 1                       # it has worked, or something that is not reported may have changed
    STIR_SHARED = 2                     # another process that shares its memory has worked
    STIR_OWN = 3                        # woken; and, though it is not noted, a datagram or a deadline

cdef struct Entry:
    int64_t due_ns                      # true time of its next deadline
    int64_t next_look_ns                # true time at which it looks again at what it left
    int64_t looked_ns                   # when it left it
    int64_t look_ns                     # from then to the next look; 0: it left nothing
    int64_t ready_ns                    # it does not run before: its last turn takes until then
    int64_t turn_ns                     # what a turn with work takes
    int64_t seen_arrivals               # of its inbox, before its last turn
    int64_t unread_before
    int64_t turns
    void* inbox                         # borrowed Inbox*, NULL: it has no sockets
    int host                            # processes of one host see each other's memory; ANY_HOST: every process's
    int turns_at_one_time
    int stir
    int stir_of_turn
    bint looks                          # whether it looks for what others have done without reporting it
    bint is_polled                      # has no deadlines, and runs whenever time has passed
    bint is_paused
    bint is_gone

cpdef enum:
    ANY_HOST = -1                       # a process that sees the memory of every host


@cython.final
cdef class Schedule:
    cdef ClockPort _clock
    cdef SimulatedNetwork _network
    cdef SeededRandom _random
    cdef Entry* _entries
    cdef int _count
    cdef int _capacity
    cdef list _parts                    # for each entry process, work, deadline, clock and inbox; None for one that is gone
    cdef int64_t _now_ns
    cdef uint64_t _digest

    cdef int _run(self, int number) except -1
    cdef void _on_work(self, int number) noexcept nogil
    cdef void _on_rest(self, int number, int64_t deadline_ns) noexcept nogil
    cdef int _pick(self) noexcept nogil
    cdef bint _is_due(self, const Entry* entry) noexcept nogil
    cdef void _begin(self, int number) noexcept nogil
    cdef void _on_time(self, int64_t now_ns) noexcept nogil
    cdef void _stir_others(self, int number, int stir) noexcept nogil
    cdef Entry* _entry(self, int number) except NULL
