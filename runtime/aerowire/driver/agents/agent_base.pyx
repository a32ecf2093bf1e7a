"""What the driver's agents share: their set-up and their commands."""

from libc.stdint cimport int64_t

from aerowire.agents.command_queue import AgentQueueFullError

from aerowire.agents.command_queue cimport AgentCommand
from aerowire.agents.duty_cycle cimport duty_cycle_start


cdef class DriverAgent(NativeAgent):
    """An agent of the driver: a clock, counters, a queue of events to the conductor and one of commands from it.

    Invariant: a command is taken only when its answer has room, and its subject is held until it was taken.
    """

    cdef int set_up(self, ClockPort clock, SystemCounters system, EventQueue events, int cycle_max_id, int cycle_exceeded_id,
                     int64_t cycle_threshold_ns) except -1:
        self.clock = clock
        self.system = system
        self.events = events
        self.commands = CommandQueue()
        self.cycle.threshold_ns = cycle_threshold_ns
        self.cycle.cycle_time_max = system.address[cycle_max_id]
        self.cycle.cycle_time_exceeded = system.address[cycle_exceeded_id]
        return 0

    cdef void on_start(self) noexcept nogil:
        duty_cycle_start(&self.cycle, self.clock.nano_time())

    cdef int take_commands(self, int64_t now_ns) noexcept nogil:
        cdef Command command
        cdef int taken = 0
        while taken < COMMANDS_PER_CYCLE and self.events.can_answer() and self.commands.poll(&command):
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
        if command.holds:
            self.events.hold(command.subject)
        if command.awaits:
            self.events.await_answer(command.subject)
        try:
            self.commands.put(command)
        except AgentQueueFullError:
            if command.holds:
                self.events.let_go(command.subject)
            if command.awaits:
                self.events.answered(command.subject)
            raise
