# What a conductor asks of a native agent: a bounded queue with one producer and one consumer.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.memory.atomics cimport load_acquire_i64, store_release_i64

cdef enum:
    COMMAND_QUEUE_CAPACITY = 1024   # a power of two; a conductor stops reading its clients' commands before it is full

cdef struct Command:
    int32_t operation           # one of its agent's
    int32_t a
    int32_t b
    bint flag
    void* subject               # borrowed: this queue holds it until it was taken, the ring of events until its final event
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
    cdef int64_t* failed_offers # a counter of refused commands, or NULL
    cdef list _commands         # the AgentCommand of each slot, whose objects are kept alive until the agent has taken it
    cdef int64_t _pruned        # commands before this were let go

    cdef int put(self, AgentCommand command) except -1                  # AgentQueueFullError when full
    cdef int forget_taken(self) except -1                               # producer: release the objects of taken commands
    cdef int free_slots(self) noexcept nogil

    cdef inline bint is_empty(self) noexcept nogil:                     # consumer
        return load_acquire_i64(&self._tail) == self._head

    cdef inline bint poll(self, Command* command) noexcept nogil:       # follow by taken() when it was carried out
        if self.is_empty():
            return False
        command[0] = self._slots[self._head & (COMMAND_QUEUE_CAPACITY - 1)]
        return True

    cdef inline void taken(self) noexcept nogil:
        store_release_i64(&self._head, self._head + 1)
