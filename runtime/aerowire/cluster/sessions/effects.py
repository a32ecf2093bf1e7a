"""Effects of a member's sessions, as values, in the order in which they must be carried out.

An effect that names results expects one of them, before the next input is given or later. Keys stand for response publications; each
`OpenResponse` has a new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse
from aerowire.codecs.flyweights.cluster.messages.challenge import Challenge
from aerowire.codecs.flyweights.cluster.messages.heartbeat_response import HeartbeatResponse
from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent
from aerowire.codecs.flyweights.cluster.messages.session_close_event import SessionCloseEvent
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEvent

if TYPE_CHECKING:
    from aerowire.cluster.sessions.cluster_session import SessionAction, SessionState
    from aerowire.cluster.sessions.inputs import StandbySnapshotEntry
    from aerowire.codecs.flyweights.cluster.enums import CloseReason


@dataclass(frozen=True, slots=True)
class BackupResponse:
    """The answer to a BackupQuery: the last term, and the latest snapshots at or before a position, NULL_POSITION for the latest of all.

    It is made when it is sent: until recording.log has a term, it cannot be.
    """

    correlation_id: int
    log_position: int
    leader_member_id: int


EgressMessage: TypeAlias = SessionEvent | Challenge | NewLeaderEvent | AdminResponse | HeartbeatResponse | BackupResponse


@dataclass(frozen=True, slots=True)
class OpenResponse:
    """Add a response publication, and a counter of the session that has `info` in its label. Expects `ResponseAdded` or `ResponseFailed`.

    Then `ResponseConnected` is given at each change. A driver that is short of resources for now is asked again by the agent.
    """

    key: int
    response_channel: str
    response_stream_id: int
    cluster_session_id: int
    info: str


@dataclass(frozen=True, slots=True)
class CloseResponse:
    """Close the response publication and the counter of a key, there or still to come."""

    key: int


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message on the response publication of a key. Expects `Sent` or `NotSent`."""

    key: int
    message: EgressMessage


@dataclass(frozen=True, slots=True)
class AppendSessionOpen:
    """Append the event that opens a session, with the time of the cluster. Expects `OpenAppended` or `AppendRefused`.

    Where there is room for it, `opened` is carried out first, if it is given: what services say to the client goes behind it, as the
    official client expects. From then on messages of the session wait for the append. No room: `AppendRefused` alone.
    """

    opened: Send | None
    cluster_session_id: int
    leadership_term_id: int
    correlation_id: int
    response_stream_id: int
    response_channel: str
    encoded_principal: bytes

    def encode(self, timestamp: int) -> bytes:
        """Return the event with its header, at a time of the cluster."""
        return SessionOpenEvent(
            leadership_term_id=self.leadership_term_id,
            correlation_id=self.correlation_id,
            cluster_session_id=self.cluster_session_id,
            timestamp=timestamp,
            response_stream_id=self.response_stream_id,
            response_channel=self.response_channel,
            encoded_principal=self.encoded_principal,
        ).encode()


@dataclass(frozen=True, slots=True)
class AppendSessionClose:
    """Append the event that closes a session, with the time of the cluster. Expects `CloseAppended` or `AppendRefused`."""

    cluster_session_id: int
    leadership_term_id: int
    close_reason: CloseReason

    def encode(self, timestamp: int) -> bytes:
        """Return the event with its header, at a time of the cluster."""
        return SessionCloseEvent(
            leadership_term_id=self.leadership_term_id,
            cluster_session_id=self.cluster_session_id,
            timestamp=timestamp,
            close_reason=self.close_reason,
        ).encode()


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """A session is open from now on: messages of its client go into the log. Also for the extension."""

    cluster_session_id: int
    log_position: int


@dataclass(frozen=True, slots=True)
class SessionClosing:
    """Messages of a session's client go into the log no more."""

    cluster_session_id: int


@dataclass(frozen=True, slots=True)
class SessionClosed:
    """A session has gone. Also for the extension."""

    cluster_session_id: int
    close_reason: CloseReason


@dataclass(frozen=True, slots=True)
class ForwardChallengeResponse:
    """Pass a client's answer to a challenge on to the leader, on the consensus stream. It expects no result."""

    correlation_id: int
    cluster_session_id: int
    encoded_credentials: bytes


@dataclass(frozen=True, slots=True)
class RequestSnapshot:
    """Set the control toggle to take a snapshot. Expects `SnapshotRequested`."""

    cluster_session_id: int
    correlation_id: int


@dataclass(frozen=True, slots=True)
class StoreStandbySnapshot:
    """Add a standby's snapshots to recording.log, and count one in their counter."""

    entries: tuple[StandbySnapshotEntry, ...]


@dataclass(frozen=True, slots=True)
class ChangeState:
    """Note a change of a session's state."""

    cluster_session_id: int
    action: SessionAction
    old: SessionState
    new: SessionState
    reason: str


@dataclass(frozen=True, slots=True)
class CountTimedOutClient:
    """Count a client whose session has timed out."""


@dataclass(frozen=True, slots=True)
class ReportEvent:
    """Record an event in the error log: a refusal, or what an authenticator raised.

    Events of one kind are one entry of the log, however many there are: their texts name sessions, which a hostile client can make many of.
    """

    kind: str
    text: str


Effect = (
    OpenResponse
    | CloseResponse
    | Send
    | AppendSessionOpen
    | AppendSessionClose
    | SessionOpened
    | SessionClosing
    | SessionClosed
    | ForwardChallengeResponse
    | RequestSnapshot
    | StoreStandbySnapshot
    | ChangeState
    | CountTimedOutClient
    | ReportEvent
)
