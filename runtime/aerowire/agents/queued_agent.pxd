# The base of a native agent that a conductor commands: a queue of commands to it, a ring of events from it.

from libc.stdint cimport int64_t
from aerowire.agents.command_queue cimport Command, CommandQueue
from aerowire.agents.event_ring cimport EventRing
from aerowire.base.runner cimport NativeAgent

cdef enum:
    COMMANDS_PER_CYCLE = 16     # so that a burst of commands does not hold up the agent's other work


cdef class QueuedAgent(NativeAgent):
    """Reads its conductor's commands at the top of its cycle. Subclasses call `set_up_queues` and override `on_command` and `do_work`."""

    cdef CommandQueue commands
    cdef EventRing _events              # subclasses keep it by its own type

    # Once, in the constructor. Several agents may share a ring.
    cdef int set_up_queues(self, EventRing events) except -1
    # Called by do_work before it touches what commands add and remove; return how many were taken.
    cdef int take_commands(self, int64_t now_ns) noexcept nogil
    # Carry out a command. The agent posts the answer that its conductor awaits, and touches a removed subject last before its final event.
    cdef void on_command(self, Command* command, int64_t now_ns) noexcept nogil
