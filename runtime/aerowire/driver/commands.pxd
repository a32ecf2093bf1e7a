# What the registrar asks of an agent: a bounded queue with one producer and one consumer.

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

cdef enum:
    COMMAND_QUEUE_CAPACITY = 1024   # a power of two; the registrar stops reading client commands before it is full

cdef struct Command:
    int32_t operation
    int32_t a
    int32_t b
    bint flag
    void* subject               # borrowed: the event queue holds it until its final event
    void* second
    int64_t value

cdef inline void command_clear(Command* command, int32_t operation, void* subject) noexcept nogil:
    memset(command, 0, sizeof(Command))
    command.operation = operation
    command.subject = subject


@cython.final
cdef class CommandQueue:
    """Producer: the registrar, with the interpreter lock. Consumer: the agent's thread."""

    cdef Command* _slots
    cdef int64_t _head          # next to read
    cdef int64_t _tail          # next to write
    cdef int64_t* _failed_offers

    cdef int put(self, Command* command) except -1      # AgentQueueFullError when full
    cdef bint poll(self, Command* command) noexcept nogil
    cdef int free_slots(self) noexcept nogil
