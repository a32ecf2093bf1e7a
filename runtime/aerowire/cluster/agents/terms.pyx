"""The terms that a member leads or follows, as its agent takes part in them once an election is closed."""


cdef class LeaderTerm:
    """A term that this member leads: its log publication, the counter of what its archive has recorded of that, and the commit position."""

    def __cinit__(self, LentPublication log not None, PositionBound append_position not None, LeaderCommit commit not None):
        self.log = log
        self.append_position = append_position
        self.commit = commit


cdef class FollowerTerm:
    """A term that another member leads: the counter of what this member's archive has recorded of its log, and what the leader has said."""

    def __cinit__(self, PositionBound append_position not None, FollowerCommit commit not None):
        self.append_position = append_position
        self.commit = commit
