# What the driver's agents share: a clock, the system counters, the events to the conductor, and the measures of their cycles.

from libc.stdint cimport int64_t
from aerowire.agents.duty_cycle cimport DutyCycle
from aerowire.agents.queued_agent cimport QueuedAgent
from aerowire.base.ports cimport ClockPort
from aerowire.driver.queues.events cimport EventQueue
from aerowire.driver.queues.system_counters cimport SystemCounters

cdef enum:
    PORTS_PER_CYCLE = 64        # sockets looked at in one cycle; the poller rotates over more
    BATCH_MAX = 16              # datagrams of one system call, as the official driver bounds them


cdef class DriverAgent(QueuedAgent):
    """Reads the conductor's commands at the top of its cycle, and measures its cycles."""

    cdef ClockPort clock
    cdef SystemCounters system
    cdef EventQueue events
    cdef DutyCycle cycle

    # Counters by id: longest cycle, cycles longer than the threshold.
    cdef int set_up(self, ClockPort clock, SystemCounters system, EventQueue events, int cycle_max_id, int cycle_exceeded_id,
                     int64_t cycle_threshold_ns) except -1
