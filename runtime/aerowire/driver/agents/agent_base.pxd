# What the driver's agents share: their set-up and their commands.

from libc.stdint cimport int64_t
from aerowire.agents.command_queue cimport Command, CommandQueue
from aerowire.agents.duty_cycle cimport DutyCycle
from aerowire.base.ports cimport ClockPort
from aerowire.base.runner cimport NativeAgent
from aerowire.driver.queues.events cimport EventQueue
from aerowire.driver.queues.system_counters cimport SystemCounters

cdef enum:
    COMMANDS_PER_CYCLE = 16     # so that a burst of commands does not hold up streams
    PORTS_PER_CYCLE = 64        # sockets looked at in one cycle; the poller rotates over more
    BATCH_MAX = 16              # datagrams of one system call, as the official driver bounds them


cdef class DriverAgent(NativeAgent):
    """Reads the conductor's commands at the top of its cycle, and measures its cycles."""

    cdef ClockPort clock
    cdef SystemCounters system
    cdef EventQueue events
    cdef CommandQueue commands
    cdef DutyCycle cycle

    # Counters by id: longest cycle, cycles longer than the threshold.
    cdef int set_up(self, ClockPort clock, SystemCounters system, EventQueue events, int cycle_max_id, int cycle_exceeded_id,
                     int64_t cycle_threshold_ns) except -1
    cdef int take_commands(self, int64_t now_ns) noexcept nogil
    cdef void on_command(self, Command* command, int64_t now_ns) noexcept nogil     # once a command; subclasses override
