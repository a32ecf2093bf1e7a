from typing import final

from aerowire.archive.agents.position_bound import PositionBound
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.cluster.agents.follower_commit import FollowerCommit
from aerowire.cluster.agents.leader_commit import LeaderCommit

@final
class LeaderTerm:
    def __init__(self, log: LentPublication, append_position: PositionBound, commit: LeaderCommit) -> None: ...
    @property
    def log(self) -> LentPublication: ...
    @property
    def append_position(self) -> PositionBound: ...
    @property
    def commit(self) -> LeaderCommit: ...

@final
class FollowerTerm:
    def __init__(self, append_position: PositionBound, commit: FollowerCommit) -> None: ...
    @property
    def append_position(self) -> PositionBound: ...
    @property
    def commit(self) -> FollowerCommit: ...
