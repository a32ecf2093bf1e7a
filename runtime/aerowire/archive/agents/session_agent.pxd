# What recorder and replayer share: an agent that works on sessions in turn.

from libc.stdint cimport int32_t, int64_t

from aerowire.agents.command_queue cimport Command
from aerowire.agents.pointer_array cimport PointerArray
from aerowire.agents.queued_agent cimport QueuedAgent
from aerowire.archive.agents.agent_events cimport AgentEvents
from aerowire.archive.agents.cycle_counters cimport CycleCounters
from aerowire.archive.agents.transfer_counters cimport TransferCounters
from aerowire.base.ports cimport ClockPort

# Operations, each with an AgentSession as its subject.
cpdef enum SessionOperation:
    ADD_SESSION = 1
    STOP_SESSION = 2


cdef class SessionAgent(QueuedAgent):
    """SessionAgent(events, clock, totals, cycles=None). Subclasses have a role name."""

    cdef AgentEvents _posted
    cdef ClockPort _clock
    cdef TransferCounters _totals
    cdef CycleCounters _cycles          # or None
    cdef PointerArray _sessions
    cdef int64_t _next_deadline_ns
