"""The agent that records streams. Aeron: ArchiveConductor.Recorder."""


cdef class Recorder(SessionAgent):
    """Records: at most one block of each stream in a cycle."""

    @property
    def role_name(self) -> str:
        return "archive-recorder"
