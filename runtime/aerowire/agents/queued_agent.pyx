"""The base of a native agent that a conductor commands: a queue of commands to it, a ring of events from it.

The conductor makes and frees; the agent works on borrowed pointers. A command that adds an object holds it. The agent's final event about the
object lets go of it: until then the conductor must neither free nor reuse what the object stands for.
"""

from libc.stdint cimport int64_t

from aerowire.agents.command_queue import AgentQueueFullError

from aerowire.agents.command_queue cimport AgentCommand


cdef class QueuedAgent(NativeAgent):
    """A native agent with commands and events.

    Invariant: a command is taken only when its answer has room, and its subject is held until it was taken.
    """

    def __cinit__(self):
        self.commands = CommandQueue()

    cdef int set_up_queues(self, EventRing events) except -1:
        self._events = events
        return 0

    cdef int take_commands(self, int64_t now_ns) noexcept nogil:
        cdef Command command
        cdef int taken = 0
        while taken < COMMANDS_PER_CYCLE and self._events.can_answer() and self.commands.poll(&command):
            self.on_command(&command, now_ns)
            self.commands.taken()
            taken += 1
        return taken

    cdef void on_command(self, Command* command, int64_t now_ns) noexcept nogil:
        pass

    @property
    def free_commands(self) -> int:
        """Commands that can be added before the queue is full."""
        return self.commands.free_slots()

    def forget_taken(self) -> None:
        """Release the objects of the commands that the agent has taken; conductor only."""
        self.commands.forget_taken()

    def put(self, AgentCommand command not None) -> None:
        """Ask the agent for something; conductor only. Raises AgentQueueFullError, and then holds nothing."""
        if self._events is None:
            raise TypeError(f"{type(self).__name__} takes no commands: it has no ring of events")
        if command.holds:
            self._events.hold(command.subject)
        if command.awaits:
            self._events.await_answer(command.subject)
        try:
            self.commands.put(command)
        except AgentQueueFullError:
            if command.holds:
                self._events.let_go(command.subject)
            if command.awaits:
                self._events.answered(command.subject)
            raise
