"""What the driver's agents share: a clock, the system counters, the events to the conductor, and the measures of their cycles."""

from libc.stdint cimport int64_t

from aerowire.agents.duty_cycle cimport duty_cycle_start


cdef class DriverAgent(QueuedAgent):
    """An agent of the driver. Its longest cycle, and how many were longer than a threshold, are system counters."""

    cdef int set_up(self, ClockPort clock, SystemCounters system, EventQueue events, int cycle_max_id, int cycle_exceeded_id,
                     int64_t cycle_threshold_ns) except -1:
        self.set_up_queues(events)
        self.clock = clock
        self.system = system
        self.events = events
        self.cycle.threshold_ns = cycle_threshold_ns
        self.cycle.cycle_time_max = system.address[cycle_max_id]
        self.cycle.cycle_time_exceeded = system.address[cycle_exceeded_id]
        return 0

    cdef void on_start(self) noexcept nogil:
        duty_cycle_start(&self.cycle, self.clock.nano_time())
