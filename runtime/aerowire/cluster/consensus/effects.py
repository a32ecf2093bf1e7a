"""Effects of a member's consensus, as values, in the order in which they must be carried out.

An effect that names a result expects it, or `EffectFailed`. Nothing that depends on a result is returned before it came: a vote follows
`CandidateTermStored`, an append position of a term follows `TermStored`.
"""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.cluster.consensus.messages import Message
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState


@dataclass(frozen=True, slots=True)
class StoreCandidateTerm:
    """Write the candidate term into the node state. Expects `CandidateTermStored`."""

    candidate_term_id: int
    log_position: int


@dataclass(frozen=True, slots=True)
class StoreTerm:
    """Make recording.log coherent with a term: the terms before it filled up and closed. Expects `TermStored`.

    `log_position` is the term's end, or NULL_POSITION. Aeron: RecordingLog.ensureCoherent.
    """

    leadership_term_id: int
    term_base_log_position: int
    log_position: int


@dataclass(frozen=True, slots=True)
class TruncateLog:
    """Truncate the recording of the log to a position, end a term of recording.log there, and invalidate later terms.

    Expects `LogTruncated`.
    """

    leadership_term_id: int
    position: int


@dataclass(frozen=True, slots=True)
class StopLog:
    """End everything that is open of a log, roll services' uncommitted work back to a position. Expects `LogStopped`.

    Where a native agent has the term, that position is the one up to which the agent has committed or consumed the log, if it is further.
    Aeron: ConsensusModuleAgent.prepareForNewLeadership, and the parts of Election.init.
    """

    log_position: int


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to a member. A failure gives `SendFailed`, success no result: a message may be lost on its way."""

    member_id: int
    message: Message


@dataclass(frozen=True, slots=True)
class ChangeState:
    """Set the counter of the election's state, and note the change."""

    state: ElectionState
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ChangeRole:
    """Set the counter of the member's role, and note the change."""

    role: ClusterRole


@dataclass(frozen=True, slots=True)
class ReportFailure:
    """Record an error that made the election start again; the next attempt waits for the delay."""

    reason: str
    delay_ns: int


@dataclass(frozen=True, slots=True)
class AddLogPublication:
    """Open the leader's log publication at a position. Expects `LogPublicationAdded`."""

    position: int


@dataclass(frozen=True, slots=True)
class JoinLogAsLeader:
    """Record the leader's log and have services join it. Expects `LogJoined`."""

    leadership_term_id: int
    position: int
    log_session_id: int
    is_startup: bool


@dataclass(frozen=True, slots=True)
class AppendTermEvent:
    """Append NewLeadershipTermEvent to the log. Expects `TermEventAppended`; an agent that is pushed back tries again."""

    leadership_term_id: int
    term_base_log_position: int
    log_session_id: int


@dataclass(frozen=True, slots=True)
class StartLogReplication:
    """Replicate the leader's recording up to a position. Expects `LogReplicated`, repeatedly, and at last with its end."""

    leader_member_id: int
    leader_recording_id: int
    stop_position: int


@dataclass(frozen=True, slots=True)
class StartReplay:
    """Replay the member's own recording to services. Expects `ReplayDone`."""

    from_position: int
    to_position: int


@dataclass(frozen=True, slots=True)
class AddCatchupDestination:
    """Subscribe to the log of a session at the catch-up endpoint. Expects `CatchupDestinationAdded`."""

    log_session_id: int


@dataclass(frozen=True, slots=True)
class AddLiveDestination:
    """Subscribe to the live log of a session, or add it to the subscription of the catch-up."""

    log_session_id: int


@dataclass(frozen=True, slots=True)
class RemoveCatchupDestination:
    """Take the catch-up endpoint from the subscription of the log."""


@dataclass(frozen=True, slots=True)
class JoinLogAsFollower:
    """Record the image of a session and have services join it. Expects `LogJoined`.

    An image that does not begin at the position is not recorded: that is a failure.
    """

    log_session_id: int
    position: int
    is_startup: bool


@dataclass(frozen=True, slots=True)
class StartCatchup:
    """Replay the leader's recording, from a position on, to a follower's endpoint under the log's session id."""

    member_id: int
    position: int
    catchup_endpoint: str
    log_session_id: int


@dataclass(frozen=True, slots=True)
class StopCatchupReplay:
    """End the replay to a follower."""

    member_id: int


@dataclass(frozen=True, slots=True)
class NotifyCommit:
    """Let services consume the log up to a position, as far as the archive has recorded it. Told as `LogConsumed`."""

    position: int


@dataclass(frozen=True, slots=True)
class ElectionStarted:
    """An election has begun, for a reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class ElectionComplete:
    """The election has ended: the term has a leader, and this member leads or follows it."""

    leader_member_id: int
    leadership_term_id: int
    log_position: int
    is_leader_startup: bool


@dataclass(frozen=True, slots=True)
class TerminateAt:
    """End the member once it has consumed the log up to a position."""

    position: int


Effect = (
    StoreCandidateTerm
    | StoreTerm
    | TruncateLog
    | StopLog
    | Send
    | ChangeState
    | ChangeRole
    | ReportFailure
    | AddLogPublication
    | JoinLogAsLeader
    | AppendTermEvent
    | StartLogReplication
    | StartReplay
    | AddCatchupDestination
    | AddLiveDestination
    | RemoveCatchupDestination
    | JoinLogAsFollower
    | StartCatchup
    | StopCatchupReplay
    | NotifyCommit
    | ElectionStarted
    | ElectionComplete
    | TerminateAt
)
