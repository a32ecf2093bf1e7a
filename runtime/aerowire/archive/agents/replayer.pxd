# The agent that replays recordings.

cimport cython

from aerowire.archive.agents.session_agent cimport SessionAgent


@cython.final
cdef class Replayer(SessionAgent):
    """Replayer(events, clock, totals, cycles=None). Its sessions are ReplaySessions."""
