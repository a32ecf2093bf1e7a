# The terms that a member leads or follows, as its agent takes part in them.

cimport cython

from aerowire.archive.agents.position_bound cimport PositionBound
from aerowire.client.lending.lent_publication cimport LentPublication
from aerowire.cluster.agents.follower_commit cimport FollowerCommit
from aerowire.cluster.agents.leader_commit cimport LeaderCommit


@cython.final
cdef class LeaderTerm:
    """LeaderTerm(log, append_position, commit). The agent's from its command until its final event."""

    cdef readonly LentPublication log
    cdef readonly PositionBound append_position
    cdef readonly LeaderCommit commit


@cython.final
cdef class FollowerTerm:
    """FollowerTerm(append_position, commit). The agent's from its command until its final event."""

    cdef readonly PositionBound append_position
    cdef readonly FollowerCommit commit
