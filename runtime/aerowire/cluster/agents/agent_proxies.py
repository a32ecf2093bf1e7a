"""Commands of a consensus module's conductor to its native agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.agents.agent_proxy import AgentProxy
from aerowire.agents.command_queue import AgentCommand
from aerowire.cluster.agents.log_agent import LogOperation

if TYPE_CHECKING:
    from aerowire.client.lending.lent_publication import LentPublication
    from aerowire.cluster.agents.followed_log import FollowedLog
    from aerowire.cluster.agents.message_image import MessageImage
    from aerowire.cluster.agents.outbound_message import OutboundMessage
    from aerowire.cluster.agents.session_table import OpenSession
    from aerowire.cluster.agents.terms import FollowerTerm, LeaderTerm


class LogAgentProxy(AgentProxy):
    """Commands to the log agent. What a command adds is the agent's until the event that is named here."""

    __slots__ = ()

    # Streams

    def add_ingress_image(self, image: MessageImage) -> None:
        """Read ingress of an image, until its loan is recalled. ImageReturned."""
        self.put(AgentCommand(LogOperation.ADD_INGRESS_IMAGE, image, hold=True))

    def add_consensus_image(self, image: MessageImage) -> None:
        """Read messages of members from an image, until its loan is recalled. ImageReturned."""
        self.put(AgentCommand(LogOperation.ADD_CONSENSUS_IMAGE, image, hold=True))

    def resume_image(self, image: MessageImage) -> None:
        """Read an ingress image on, behind the message that an IngressMessage had."""
        self.put(AgentCommand(LogOperation.RESUME_IMAGE, image))

    def open_ingress(self, *, is_open: bool) -> None:
        """Read ingress, or read it no more, as IngressClosed says: it stays in its images.

        A member that suspends or takes a snapshot does not read it.
        """
        self.put(AgentCommand(LogOperation.OPEN_INGRESS, flag=is_open))

    def set_publication(self, member_id: int, publication: LentPublication) -> None:
        """Send to a member by a publication, until its loan is recalled or another one is set. PublicationReturned."""
        self.put(AgentCommand(LogOperation.SET_PUBLICATION, publication, member_id, hold=True))

    # Sessions

    def add_session(self, session: OpenSession) -> None:
        """Let a session append to the log, once its open event is in there. SessionRemoved."""
        self.put(AgentCommand(LogOperation.ADD_SESSION, session, hold=True))

    def remove_session(self, session: OpenSession) -> None:
        """Let a session append no more."""
        self.put(AgentCommand(LogOperation.REMOVE_SESSION, session))

    # Messages

    def append(self, message: OutboundMessage) -> None:
        """Append a message to the log of the term, in order; it waits as long as the log has no room. MessageAppended."""
        self.put(AgentCommand(LogOperation.APPEND_MESSAGE, message, hold=True))

    def send(self, member_id: int, message: OutboundMessage) -> None:
        """Send a message to a member, or lose it. MessageSent."""
        self.put(AgentCommand(LogOperation.SEND_MESSAGE, message, member_id, hold=True))

    # Terms

    def lead(self, term: LeaderTerm) -> None:
        """Lead a term; one that was led or followed before is ended. TermEnded."""
        self.put(AgentCommand(LogOperation.LEAD_TERM, term, hold=True))

    def follow(self, term: FollowerTerm) -> None:
        """Follow a term's leader; a term that was led or followed before is ended. TermEnded."""
        self.put(AgentCommand(LogOperation.FOLLOW_TERM, term, hold=True))

    def end_term(self) -> None:
        """End the term; without one nothing happens."""
        self.put(AgentCommand(LogOperation.END_TERM))

    def update_member(self, member_id: int, log_position: int, *, is_of_term: bool) -> None:
        """Count a member as heard of, and its position if that is of the log of the term: for what a canvass has told a leader."""
        self.put(AgentCommand(LogOperation.UPDATE_MEMBER, None, member_id, value=log_position, flag=is_of_term))

    def watch_member(self, member_id: int, *, is_watched: bool) -> None:
        """Get the append positions of a member as ConsensusMessages too, as long as the leader replays its log to it."""
        self.put(AgentCommand(LogOperation.WATCH_MEMBER, None, member_id, flag=is_watched))

    def notify_commit(self, log_position: int) -> None:
        """Take a commit position that the leader has told by another message than CommitPosition."""
        self.put(AgentCommand(LogOperation.NOTIFY_COMMIT, value=log_position))

    def terminate(self) -> None:
        """Let the leader be silent from now on: it has said where members end."""
        self.put(AgentCommand(LogOperation.TERMINATE))

    # The log

    def add_log(self, log: FollowedLog, limit: int) -> None:
        """Consume a log up to a limit, or to the leader's commit position while a term is followed. LogReturned."""
        self.put(AgentCommand(LogOperation.ADD_LOG, log, value=limit, hold=True))

    def limit_log(self, limit: int) -> None:
        """Consume the log up to another limit, while no term is followed; LogReached says when it is there."""
        self.put(AgentCommand(LogOperation.LIMIT_LOG, value=limit))

    def resume_log(self) -> None:
        """Consume the log on, behind the LogMessage that held it."""
        self.put(AgentCommand(LogOperation.RESUME_LOG))

    def remove_log(self) -> None:
        """Leave the log where it is, and give its image back."""
        self.put(AgentCommand(LogOperation.REMOVE_LOG))
