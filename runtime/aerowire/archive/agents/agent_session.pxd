# A session of a native agent: one recording or one replay.

from libc.stdint cimport int64_t

from aerowire.archive.agents.agent_events cimport AgentEvents
from aerowire.archive.agents.transfer_counters cimport TransferCounters
from aerowire.base.ports cimport ClockPort


cdef class AgentSession:
    """A SessionAgent's from its command until its final event. Subclasses override all four."""

    # The work done, or SESSION_DONE once the final event is posted: the session is not to be touched any more.
    cdef int do_work(self, ClockPort clock, TransferCounters totals, AgentEvents events, int64_t now_ns) noexcept nogil
    cdef void stop(self) noexcept nogil                 # end as soon as that can be done in order; once more does nothing
    cdef int64_t next_deadline_ns(self) noexcept nogil
    cdef void abandon(self) noexcept nogil              # with the agent: give back what no operation uses
