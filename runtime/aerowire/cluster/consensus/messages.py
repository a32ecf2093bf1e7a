"""Messages between the members of a cluster, as values: templates 50 to 57 and 75 of schema 111, with its names of fields.

A field that an older peer did not send has the value that stands for that: None for a version, NULL_POSITION for a commit position.
"""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.base.units import NULL_VALUE
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.recordings.versions import compose_version

PROTOCOL_VERSION = compose_version(1, 0, 0)  # Aeron: ConsensusModule.Configuration.PROTOCOL_SEMANTIC_VERSION
APPEND_POSITION_FLAG_NONE = 0
APPEND_POSITION_FLAG_CATCHUP = 1


@dataclass(frozen=True, slots=True)
class CanvassPosition:
    """A member tells the log that it has, and the latest term that it knows."""

    log_leadership_term_id: int
    log_position: int
    leadership_term_id: int
    follower_member_id: int
    protocol_version: int | None = PROTOCOL_VERSION


@dataclass(frozen=True, slots=True)
class RequestVote:
    """A candidate asks for a vote, and tells the log that it has."""

    log_leadership_term_id: int
    log_position: int
    candidate_term_id: int
    candidate_member_id: int
    protocol_version: int | None = PROTOCOL_VERSION


@dataclass(frozen=True, slots=True)
class Vote:
    """A member answers a candidate, and tells the log that it has."""

    candidate_term_id: int
    log_leadership_term_id: int
    log_position: int
    candidate_member_id: int
    follower_member_id: int
    vote: bool


@dataclass(frozen=True, slots=True)
class NewLeadershipTerm:
    """A leader tells its term, and what its log has behind a member's: the term that comes next, where it begins and ends.

    `next_*` are NULL_VALUE if the member's log is of the leader's own term; `next_log_position` also if the next term has no end.
    """

    log_leadership_term_id: int
    next_leadership_term_id: int
    next_term_base_log_position: int
    next_log_position: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    leader_recording_id: int
    timestamp: int
    leader_member_id: int
    log_session_id: int
    app_version: int = 0
    is_startup: bool = False
    commit_position: int = NULL_POSITION


@dataclass(frozen=True, slots=True)
class AppendPosition:
    """A follower tells how far it has recorded the log of a term."""

    leadership_term_id: int
    log_position: int
    follower_member_id: int
    flags: int = APPEND_POSITION_FLAG_NONE


@dataclass(frozen=True, slots=True)
class CommitPosition:
    """A leader tells how far its log is committed."""

    leadership_term_id: int
    log_position: int
    leader_member_id: int


@dataclass(frozen=True, slots=True)
class CatchupPosition:
    """A follower asks its leader for a replay of the log from a position to an endpoint."""

    leadership_term_id: int
    log_position: int
    follower_member_id: int
    catchup_endpoint: str


@dataclass(frozen=True, slots=True)
class StopCatchup:
    """A leader tells a follower that it has caught up."""

    leadership_term_id: int
    follower_member_id: int


@dataclass(frozen=True, slots=True)
class TerminationPosition:
    """A leader tells at which position of the log members end."""

    leadership_term_id: int
    log_position: int


Message = (
    CanvassPosition
    | RequestVote
    | Vote
    | NewLeadershipTerm
    | AppendPosition
    | CommitPosition
    | CatchupPosition
    | StopCatchup
    | TerminationPosition
)

# Fields that may be NULL_VALUE (-1); all other terms, positions and members are at least 0.
_NULLABLE = frozenset({"log_leadership_term_id", "next_leadership_term_id", "next_term_base_log_position", "next_log_position"})
_NULLABLE_OF: dict[type, frozenset[str]] = {
    CanvassPosition: frozenset({"log_leadership_term_id", "leadership_term_id"}),
    NewLeadershipTerm: _NULLABLE | {"leader_recording_id", "commit_position"},
    AppendPosition: frozenset(),
}
_UNBOUNDED = frozenset(
    {"timestamp", "log_session_id", "app_version", "protocol_version", "flags", "vote", "is_startup", "catchup_endpoint"}
)


def sender_of(message: Message) -> int:
    """Return the id of the member that a message says it is from; NULL_VALUE of one that does not say."""
    match message:
        case CanvassPosition() | AppendPosition() | CatchupPosition():
            return message.follower_member_id
        case RequestVote():
            return message.candidate_member_id
        case Vote():
            return message.follower_member_id
        case NewLeadershipTerm() | CommitPosition():
            return message.leader_member_id
        case StopCatchup() | TerminationPosition():
            return NULL_VALUE


def flaw_of(message: Message) -> str | None:
    """Return why no member can have sent a message; None of a sound one.

    Terms and positions count from 0, and -1 stands for none where a log may be empty. A message with less is dropped, by the rule that
    whatever arrives from the network is answered or dropped, and ends nothing.
    """
    nullable = _NULLABLE_OF.get(type(message), _NULLABLE)
    for name in message.__dataclass_fields__:
        if name not in _UNBOUNDED:
            value = getattr(message, name)
            least = NULL_VALUE if name in nullable else 0
            if value < least:
                return f"{type(message).__name__}.{name}={value} is less than {least}"
    return None
