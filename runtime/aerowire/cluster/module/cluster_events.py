"""The events of a cluster's member, as its event log gets them; without a log: nothing. Aeron: ClusterEventLogger, ClusterLog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aerowire.agents.state_events import StateEvents
from aerowire.cluster.consensus import messages
from aerowire.codecs.flyweights.events import ClusterEventCode

if TYPE_CHECKING:
    from aerowire.agents.event_log import EventLog

# The event of each message between members that arrives.
_EVENT_OF_MESSAGE: Final[Mapping[type, ClusterEventCode]] = {
    messages.CanvassPosition: ClusterEventCode.CANVASS_POSITION,
    messages.RequestVote: ClusterEventCode.REQUEST_VOTE,
    messages.Vote: ClusterEventCode.VOTE,
    messages.NewLeadershipTerm: ClusterEventCode.NEW_LEADERSHIP_TERM,
    messages.AppendPosition: ClusterEventCode.APPEND_POSITION,
    messages.CommitPosition: ClusterEventCode.COMMIT_POSITION,
    messages.CatchupPosition: ClusterEventCode.CATCHUP_POSITION,
    messages.StopCatchup: ClusterEventCode.STOP_CATCHUP,
    messages.TerminationPosition: ClusterEventCode.TERMINATION_POSITION,
}


class ClusterEvents(StateEvents):
    """Writes to the event log, if there is one; each event names the member. Any thread."""

    __slots__ = ("_member_id",)

    def __init__(self, member_id: int, log: EventLog | None = None) -> None:
        super().__init__(log)
        self._member_id = member_id

    def tell(self, code: ClusterEventCode, **facts: str | int | bool) -> None:
        """Something has happened at the member."""
        if self.log is not None:
            self.note(code, member_id=self._member_id, **facts)

    def message(self, message: messages.Message) -> None:
        """A message of another member has come."""
        code = _EVENT_OF_MESSAGE[type(message)]
        if self.log is not None and self.log.has(code):
            self.tell(code, **{name: getattr(message, name) for name in message.__dataclass_fields__ if getattr(message, name) is not None})
