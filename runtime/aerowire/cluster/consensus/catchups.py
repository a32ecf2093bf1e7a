"""Replays of the leader's log to followers that catch up. Aeron: ConsensusModuleAgent.onCatchupPosition and trackCatchupCompletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.cluster.consensus.effects import Send, StartCatchup, StopCatchupReplay
from aerowire.cluster.consensus.messages import APPEND_POSITION_FLAG_CATCHUP, AppendPosition, CatchupPosition, StopCatchup

if TYPE_CHECKING:
    from aerowire.cluster.consensus.core import ConsensusCore


class Catchups:
    """The followers that a replay runs to; at most one each, so that their number is bounded by the members'."""

    def __init__(self, core: ConsensusCore) -> None:
        """Start without replays."""
        self._core = core
        self._members: set[int] = set()

    def on_catchup_position(self, message: CatchupPosition) -> None:
        """Start a replay to a follower that has none."""
        core = self._core
        if (
            message.leadership_term_id <= core.leadership_term_id
            and message.follower_member_id not in self._members
            and core.log_session_id is not None
            and message.log_position <= core.published_position
        ):
            self._members.add(message.follower_member_id)
            core.emit(StartCatchup(message.follower_member_id, message.log_position, message.catchup_endpoint, core.log_session_id))

    def on_append_position(self, message: AppendPosition) -> None:
        """End the replay to a follower that has all of the log: it goes on with the live one."""
        is_catchup = bool(message.flags & APPEND_POSITION_FLAG_CATCHUP)
        member_id = message.follower_member_id
        if (is_catchup or member_id in self._members) and message.log_position >= self._core.published_position:
            self.stop(member_id)
            self._core.emit(Send(member_id, StopCatchup(message.leadership_term_id, member_id)))

    def stop(self, member_id: int) -> None:
        """End the replay to a follower, if there is one: it has joined, or begins again."""
        if member_id in self._members:
            self._members.remove(member_id)
            self._core.emit(StopCatchupReplay(member_id))

    def stop_all(self) -> None:
        """End all replays."""
        for member_id in sorted(self._members):
            self.stop(member_id)
