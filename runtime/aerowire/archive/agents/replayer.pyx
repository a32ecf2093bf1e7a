"""The agent that replays recordings. Aeron: ArchiveConductor.Replayer."""


cdef class Replayer(SessionAgent):
    """Replays: at most one block of each replay is sent and one is read in a cycle."""

    @property
    def role_name(self) -> str:
        return "archive-replayer"
