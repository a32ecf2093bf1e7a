"""What recorder and replayer share: an agent that works on sessions in turn. Aeron: SessionWorker."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t

from aerowire.archive.agents.agent_events cimport SESSION_DONE
from aerowire.archive.agents.agent_session cimport AgentSession


cdef class SessionAgent(QueuedAgent):
    """Gives each session one step in a cycle, so that none holds up the others.

    Changed by: its one thread.  Invariant: a session is its agent's from its command until its final event.
    """

    def __cinit__(self, AgentEvents events not None, ClockPort clock not None, TransferCounters totals not None,
                  CycleCounters cycles=None):
        self.set_up_queues(events)
        self._posted = events
        self._clock = clock
        self._totals = totals
        self._cycles = cycles
        self._sessions = PointerArray()
        self._next_deadline_ns = INT64_MAX

    cdef void on_command(self, Command* command, int64_t now_ns) noexcept nogil:
        cdef int i
        if command.operation == ADD_SESSION:
            if not self._sessions.add(command.subject):         # out of memory: it ends before it begins
                (<AgentSession>command.subject).stop()
                while (<AgentSession>command.subject).do_work(self._clock, self._totals, self._posted, now_ns) != SESSION_DONE:
                    pass
            return
        for i in range(self._sessions.count):
            if self._sessions.items[i] is command.subject:      # else it has ended by itself
                (<AgentSession>command.subject).stop()

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int work = self.take_commands(now_ns)
        cdef int64_t deadline_ns = INT64_MAX
        cdef int done
        cdef int i = 0
        if self._cycles is not None:
            self._cycles.measure(now_ns)
        while i < self._sessions.count:
            done = (<AgentSession>self._sessions.items[i]).do_work(self._clock, self._totals, self._posted, now_ns)
            if done == SESSION_DONE:
                self._sessions.remove_at(i)
                work += 1
            else:
                work += done
                deadline_ns = min(deadline_ns, (<AgentSession>self._sessions.items[i]).next_deadline_ns())
                i += 1
        self._totals.show()
        self._next_deadline_ns = deadline_ns
        if self._cycles is not None and work == 0 and self.is_dormant():
            self._cycles.start_over()
        return work

    cdef bint is_dormant(self) noexcept nogil:
        return self._sessions.count == 0 and self.commands.is_empty()

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        return self._next_deadline_ns

    cdef void on_close(self) noexcept nogil:
        cdef int i
        for i in range(self._sessions.count):
            (<AgentSession>self._sessions.items[i]).abandon()
        self._totals.give_back()
        if self._cycles is not None:
            self._cycles.give_back()

    @property
    def session_count(self) -> int:
        """Sessions that it works on; for its own thread, or when it has ended."""
        return self._sessions.count
