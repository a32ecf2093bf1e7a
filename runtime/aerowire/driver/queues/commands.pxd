# What the conductor asks of an agent: a bounded queue with one producer and one consumer.

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

cdef enum:
    COMMAND_QUEUE_CAPACITY = 1024   # a power of two; the conductor stops reading client commands before it is full

cdef struct Command:
    int32_t operation
    int32_t a
    int32_t b
    bint flag
    void* subject               # borrowed: this queue holds it until it was taken, the event queue until its final event
    void* second
    int64_t value

cdef inline void command_clear(Command* command, int32_t operation, void* subject) noexcept nogil:
    memset(command, 0, sizeof(Command))
    command.operation = operation
    command.subject = subject


@cython.final
cdef class CommandQueue:
    """Producer: the conductor, with the interpreter lock. Consumer: the agent's thread."""

    cdef Command* _slots
    cdef int64_t _head          # next to read
    cdef int64_t _tail          # next to write
    cdef int64_t* failed_offers
    cdef list _subjects         # what the command of each slot names, kept alive until the agent has taken it
    cdef int64_t _pruned        # subjects before this were let go

    cdef int put(self, Command* command, object subject) except -1      # AgentQueueFullError when full
    cdef bint poll(self, Command* command) noexcept nogil               # follow by taken() when it was carried out
    cdef void taken(self) noexcept nogil
    cdef int forget_taken(self) except -1                               # producer: release the objects of taken commands
    cdef int free_slots(self) noexcept nogil
