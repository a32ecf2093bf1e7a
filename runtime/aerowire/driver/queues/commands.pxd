# What the conductor asks of an agent: a bounded queue with one producer and one consumer.

cimport cython
from libc.stdint cimport int32_t, int64_t

cdef enum:
    COMMAND_QUEUE_CAPACITY = 1024   # a power of two; the conductor stops reading client commands before it is full

cdef struct Command:
    int32_t operation           # one of its agent's
    int32_t a
    int32_t b
    bint flag
    void* subject               # borrowed: this queue holds it until it was taken, the event queue until its final event
    void* second
    int64_t value


@cython.final
cdef class AgentCommand:
    """A command before its agent has room for it."""

    cdef Command record
    cdef object subject
    cdef object second
    cdef bint holds
    cdef bint awaits


@cython.final
cdef class CommandQueue:
    """Producer: the conductor, with the interpreter lock. Consumer: the agent's thread."""

    cdef Command* _slots
    cdef int64_t _head          # next to read
    cdef int64_t _tail          # next to write
    cdef int64_t* failed_offers
    cdef list _commands         # the AgentCommand of each slot, whose objects are kept alive until the agent has taken it
    cdef int64_t _pruned        # commands before this were let go

    cdef int put(self, AgentCommand command) except -1                  # AgentQueueFullError when full
    cdef bint poll(self, Command* command) noexcept nogil               # follow by taken() when it was carried out
    cdef void taken(self) noexcept nogil
    cdef int forget_taken(self) except -1                               # producer: release the objects of taken commands
    cdef int free_slots(self) noexcept nogil
