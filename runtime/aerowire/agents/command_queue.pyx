"""What a conductor asks of a native agent: a bounded queue with one producer and one consumer."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

cimport cython

from aerowire.base.errors import AerowireError

from aerowire.ipc.counters cimport counter_atomic_add


class AgentQueueFullError(AerowireError):
    """An agent has not kept up with what the conductor asked of it; the command may be repeated later."""


@cython.final
cdef class AgentCommand:
    """An operation of an agent and its arguments; the subject and the second object go as borrowed pointers.

    `hold` keeps the subject until its final event, `awaits` until one answer.
    """

    def __cinit__(self, int32_t operation, subject=None, int32_t a=0, int32_t b=0, *, bint flag=False, int64_t value=0, second=None,
                  bint hold=False, bint awaits=False):
        self.record = Command(operation, a, b, flag, <void*>subject, <void*>second, value)
        self.subject = subject
        self.second = second
        self.holds = hold
        self.awaits = awaits


@cython.final
cdef class CommandQueue:
    """Invariant: 0 <= tail - head <= capacity."""

    def __cinit__(self):
        self._slots = <Command*>calloc(COMMAND_QUEUE_CAPACITY, sizeof(Command))
        if self._slots is NULL:
            raise MemoryError
        self._commands = [None] * COMMAND_QUEUE_CAPACITY

    def __dealloc__(self):
        free(self._slots)

    cdef int put(self, AgentCommand command) except -1:
        self.forget_taken()
        if self.free_slots() == 0:
            if self.failed_offers is not NULL:
                counter_atomic_add(self.failed_offers, 1)
            raise AgentQueueFullError("command queue of an agent is full", expected=f"fewer than {COMMAND_QUEUE_CAPACITY} waiting commands",
                                      hint="the agent's thread may hang")
        self._commands[self._tail & (COMMAND_QUEUE_CAPACITY - 1)] = command
        self._slots[self._tail & (COMMAND_QUEUE_CAPACITY - 1)] = command.record
        store_release_i64(&self._tail, self._tail + 1)
        return 0

    cdef int forget_taken(self) except -1:
        cdef int64_t taken = load_acquire_i64(&self._head)
        while self._pruned < taken:
            self._commands[self._pruned & (COMMAND_QUEUE_CAPACITY - 1)] = None
            self._pruned += 1
        return 0

    cdef int free_slots(self) noexcept nogil:
        return COMMAND_QUEUE_CAPACITY - <int>(self._tail - load_acquire_i64(&self._head))
