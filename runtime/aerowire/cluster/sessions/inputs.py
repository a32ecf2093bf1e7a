"""Inputs of a member's sessions: requests, what services and the log say, changes of the member's role, and results of effects.

A result belongs to the effect that names the same session, key or message. BEFORE `LeadershipEnded` is given, each append that was returned
must have its result, refused if it was not carried out: what the log keeps is not told again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.base.units import NULL_VALUE
from aerowire.codecs.flyweights.archive_files import NULL_POSITION

if TYPE_CHECKING:
    from aerowire.cluster.sessions.cluster_session import SessionAction
    from aerowire.cluster.sessions.effects import EgressMessage
    from aerowire.codecs.flyweights.cluster.enums import AdminRequestType, CloseReason

# Requests. Response channels are those that the member uses: a request whose channel it does not is not given.


@dataclass(frozen=True, slots=True)
class IngressImage:
    """The image that a request came from: its id, its source, and the session of its publication."""

    image_id: int
    source_identity: str
    session_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    """A client asks for a session. Aeron: SessionConnectRequest."""

    correlation_id: int
    response_stream_id: int
    response_channel: str
    image: IngressImage
    version: int = 0
    encoded_credentials: bytes = b""
    client_info: str = ""


@dataclass(frozen=True, slots=True)
class Close:
    """A client ends its session. Aeron: SessionCloseRequest."""

    leadership_term_id: int
    cluster_session_id: int


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """A client is there. Aeron: SessionKeepAlive."""

    leadership_term_id: int
    cluster_session_id: int
    image_id: int


@dataclass(frozen=True, slots=True)
class ChallengeResponse:
    """A client answers a challenge."""

    correlation_id: int
    cluster_session_id: int
    encoded_credentials: bytes


@dataclass(frozen=True, slots=True)
class BackupChallengeResponse:
    """A backup or standby answers a challenge, on the consensus stream; or a member passes on the answer that a client gave it."""

    correlation_id: int
    cluster_session_id: int
    encoded_credentials: bytes


@dataclass(frozen=True, slots=True)
class AdminRequested:
    """A client asks for an administrator's action. Aeron: AdminRequest."""

    leadership_term_id: int
    cluster_session_id: int
    correlation_id: int
    request_type: AdminRequestType


@dataclass(frozen=True, slots=True, kw_only=True)
class StandbySnapshotEntry:
    """A snapshot that a standby has taken, of a service or, with -1, of the consensus module."""

    recording_id: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    timestamp: int
    service_id: int
    archive_endpoint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupRequest:
    """A backup or standby asks for something, on the consensus stream. Aeron: BackupQuery, HeartbeatRequest, StandbySnapshot.

    `log_position` is that of a BackupQuery, NULL_POSITION for none; `standby_snapshots` those of a StandbySnapshot.
    """

    action: SessionAction
    correlation_id: int
    response_stream_id: int
    response_channel: str
    image: IngressImage
    version: int = 0
    encoded_credentials: bytes = b""
    log_position: int = NULL_POSITION
    standby_snapshots: tuple[StandbySnapshotEntry, ...] = ()


# Facts about open sessions


@dataclass(frozen=True, slots=True)
class SessionActive:
    """A client's message came at a time, on an image."""

    cluster_session_id: int
    time_ns: int
    image_id: int = NULL_VALUE


@dataclass(frozen=True, slots=True)
class ImageUnavailable:
    """An image of the ingress has gone."""

    image_id: int


@dataclass(frozen=True, slots=True)
class ServiceClosed:
    """A service, or an extension, closes a session. Aeron: CloseSession."""

    cluster_session_id: int


@dataclass(frozen=True, slots=True)
class OpenReplayed:
    """The log of another leader, or of before, opens a session at a position.

    With the principal, a member that comes to lead can permit what the client asks for; the official one forgets it.
    """

    log_position: int
    correlation_id: int
    cluster_session_id: int
    response_stream_id: int
    response_channel: str
    encoded_principal: bytes = b""


@dataclass(frozen=True, slots=True)
class CloseReplayed:
    """The log of another leader, or of before, closes a session."""

    cluster_session_id: int
    close_reason: CloseReason


# The member's role and state


@dataclass(frozen=True, slots=True)
class LeadershipBegun:
    """The member leads. At the start of a cluster, the clients of the sessions that it has recovered are gone."""

    leadership_term_id: int
    is_startup: bool


@dataclass(frozen=True, slots=True)
class FollowingBegun:
    """The member follows a leader."""

    leadership_term_id: int
    leader_member_id: int


@dataclass(frozen=True, slots=True)
class LeadershipEnded:
    """An election has begun: whatever the member was, its log goes on from a position. Aeron: prepareForNewLeadership."""

    log_position: int


@dataclass(frozen=True, slots=True)
class ActivityChanged:
    """The member's state is ACTIVE, or is not any more: sessions are neither opened nor closed then."""

    is_active: bool


@dataclass(frozen=True, slots=True)
class Committed:
    """The log is committed up to a position."""

    position: int


# Results of effects


@dataclass(frozen=True, slots=True)
class ResponseAdded:
    """The response publication of a key is there."""

    key: int


@dataclass(frozen=True, slots=True)
class ResponseFailed:
    """The driver has refused the response publication of a key."""

    key: int
    reason: str


@dataclass(frozen=True, slots=True)
class ResponseConnected:
    """The response publication of a key has a subscriber, or has none any more."""

    key: int
    is_connected: bool


@dataclass(frozen=True, slots=True)
class OpenAppended:
    """The event that opens a session is in the log, up to a position."""

    cluster_session_id: int
    position: int


@dataclass(frozen=True, slots=True)
class CloseAppended:
    """The event that closes a session is in the log, up to a position."""

    cluster_session_id: int
    position: int


@dataclass(frozen=True, slots=True)
class AppendRefused:
    """The log has no room for the event of a session now."""

    cluster_session_id: int


@dataclass(frozen=True, slots=True)
class Sent:
    """A message was sent on the response publication of a key."""

    key: int
    message: EgressMessage


@dataclass(frozen=True, slots=True)
class NotSent:
    """A message could not be sent now, or the answer to it is not known yet."""

    key: int
    message: EgressMessage


@dataclass(frozen=True, slots=True)
class SnapshotRequested:
    """The control toggle was set to take a snapshot, or could not be."""

    cluster_session_id: int
    correlation_id: int
    is_accepted: bool


Input = (
    Connect
    | Close
    | KeepAlive
    | ChallengeResponse
    | BackupChallengeResponse
    | AdminRequested
    | BackupRequest
    | SessionActive
    | ImageUnavailable
    | ServiceClosed
    | OpenReplayed
    | CloseReplayed
    | LeadershipBegun
    | FollowingBegun
    | LeadershipEnded
    | ActivityChanged
    | Committed
    | ResponseAdded
    | ResponseFailed
    | ResponseConnected
    | OpenAppended
    | CloseAppended
    | AppendRefused
    | Sent
    | NotSent
    | SnapshotRequested
)
