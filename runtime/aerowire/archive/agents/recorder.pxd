# The agent that records streams.

cimport cython

from aerowire.archive.agents.session_agent cimport SessionAgent


@cython.final
cdef class Recorder(SessionAgent):
    """Recorder(events, clock, totals, cycles=None). Its sessions are RecordingSessions."""
