"""A session of a native agent: one recording or one replay. Aeron: Session."""

from libc.stdint cimport INT64_MAX, int64_t

from aerowire.archive.agents.agent_events cimport SESSION_DONE


cdef class AgentSession:
    """What a SessionAgent calls. Subclasses override all of it."""

    cdef int do_work(self, ClockPort clock, TransferCounters totals, AgentEvents events, int64_t now_ns) noexcept nogil:
        return SESSION_DONE

    cdef void stop(self) noexcept nogil:
        pass

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        return INT64_MAX

    cdef void abandon(self) noexcept nogil:
        pass
