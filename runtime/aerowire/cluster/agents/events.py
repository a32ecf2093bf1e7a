"""The events of a consensus module's agent, which its conductor polls from one ring, in the order in which they happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from aerowire.client.lending.lent_publication import LentPublication
    from aerowire.cluster.agents.agent_events import LogEnd, TermFault
    from aerowire.cluster.agents.followed_log import FollowedLog
    from aerowire.cluster.agents.message_image import MessageImage
    from aerowire.cluster.agents.outbound_message import OutboundMessage
    from aerowire.cluster.agents.session_table import OpenSession
    from aerowire.cluster.agents.terms import FollowerTerm, LeaderTerm


class IngressMessage(NamedTuple):
    """Ingress that the conductor handles. The image is read on once the proxy's `resume_image` says that this was done."""

    image: MessageImage
    message: bytes
    position: int


class IngressClosed(NamedTuple):
    """Ingress is not read any more: nothing of it comes behind what the log has now."""


class ConsensusMessage(NamedTuple):
    """A message of another member, or of a backup, that the conductor handles."""

    image: MessageImage
    message: bytes


class LogMessage(NamedTuple):
    """A message of the log other than a session message. If `is_held`, the log is read on after the proxy's `resume_log`."""

    log: FollowedLog
    message: bytes
    position: int
    is_held: bool


class LogReached(NamedTuple):
    """The log was consumed up to the limit that the conductor had set."""

    log: FollowedLog
    position: int


class TermFaulted(NamedTuple):
    """Something happened that ends a term, once for each fault: the conductor is to end it."""

    term: LeaderTerm | FollowerTerm
    fault: TermFault


class TermEnded(NamedTuple):
    """The agent has left a term: what it holds does not change any more, and the log publication is given back.

    Messages that wait to be appended are answered as closed behind this.
    """

    term: LeaderTerm | FollowerTerm


class LogReturned(NamedTuple):
    """The agent has left a log, and given its image back."""

    log: FollowedLog
    end: LogEnd
    position: int


class ImageReturned(NamedTuple):
    """An image is given back: it was removed, has closed, or has a frame that cannot be stepped over."""

    image: MessageImage
    is_malformed: bool


class PublicationReturned(NamedTuple):
    """The publication to a member is given back."""

    publication: LentPublication


class SessionRemoved(NamedTuple):
    """Messages of a session are not appended any more; also of one that could not be added, because its id was there."""

    session: OpenSession


class MessageAppended(NamedTuple):
    """A message is in the log, with that timestamp of the cluster's clock; or `position` is the negative result of its offer."""

    message: OutboundMessage
    position: int
    timestamp: int


class MessageSent(NamedTuple):
    """A message was sent to a member; or `position` is the negative result of its offer: it is lost."""

    message: OutboundMessage
    position: int


ClusterAgentEvent = (
    IngressMessage
    | IngressClosed
    | ConsensusMessage
    | LogMessage
    | LogReached
    | TermFaulted
    | TermEnded
    | LogReturned
    | ImageReturned
    | PublicationReturned
    | SessionRemoved
    | MessageAppended
    | MessageSent
)
