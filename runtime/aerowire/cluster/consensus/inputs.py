"""Inputs of a member's consensus beside messages: the facts that it starts with, and the results of its effects.

`effects` says which effect expects which result. A result belongs to the effect that was returned last of its kind; once a `StopLog` was
returned, results of what it ends must not be given any more.
"""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.consensus.messages import Message
from aerowire.codecs.flyweights.archive_files import NULL_POSITION


@dataclass(frozen=True, slots=True)
class TermEntry:
    """A term as recording.log has it: where its log begins, and where it ends if another one has followed."""

    leadership_term_id: int
    term_base_log_position: int
    log_position: int = NULL_POSITION


@dataclass(frozen=True, slots=True)
class RecoveryFacts:
    """What a member knows when it starts: its files, its archive, and the position that its services have recovered.

    `log_position` is what services have consumed, `append_position` what the archive has recorded. Invariant: log <= append position.
    """

    terms: tuple[TermEntry, ...] = ()
    candidate_term_id: int = NULL_VALUE
    log_position: int = 0
    append_position: int = 0
    log_recording_id: int = NULL_VALUE


@dataclass(frozen=True, slots=True)
class CandidateTermStored:
    """The node state holds a candidate term."""

    candidate_term_id: int


@dataclass(frozen=True, slots=True)
class TermStored:
    """recording.log holds a term."""

    leadership_term_id: int


@dataclass(frozen=True, slots=True)
class LogTruncated:
    """The recording of the log and recording.log end at a position."""

    position: int


@dataclass(frozen=True, slots=True)
class LogStopped:
    """Nothing of a log that was led, followed, replayed or replicated is open any more; the recording ends at the append position.

    `log_position` is how far a leader's log was committed by then, or a follower's consumed: a native agent that has the term goes on
    until it is stopped, beyond the position that the effect named. `leader_heard_ns` is when such an agent of a follower has heard of the
    leader last; None if no agent had the term.
    """

    append_position: int
    log_position: int = NULL_POSITION
    leader_heard_ns: int | None = None


@dataclass(frozen=True, slots=True)
class LogPublicationAdded:
    """The leader's log publication is open."""

    log_session_id: int


@dataclass(frozen=True, slots=True)
class LogReplicated:
    """The replication of the leader's recording has come to a position, which is recorded."""

    position: int
    recording_id: int
    is_ended: bool = False


@dataclass(frozen=True, slots=True)
class TermReplayed:
    """A replay or a catch-up has passed the event that begins a term. Aeron: Election.onReplayNewLeadershipTermEvent."""

    leadership_term_id: int
    term_base_log_position: int
    log_position: int


@dataclass(frozen=True, slots=True)
class ReplayDone:
    """Services have consumed a replay to its end."""

    position: int


@dataclass(frozen=True, slots=True)
class CatchupDestinationAdded:
    """The subscription of the log takes a catch-up at an endpoint, whose port is known."""

    catchup_endpoint: str


@dataclass(frozen=True, slots=True)
class LogJoined:
    """The log is recorded from a position on, into a recording, and services have joined it."""

    position: int
    recording_id: int
    term_buffer_length: int


@dataclass(frozen=True, slots=True)
class TermEventAppended:
    """The event that begins the term is in the leader's log."""

    position: int


@dataclass(frozen=True, slots=True)
class LogRecorded:
    """The archive has recorded the log up to a position; a leader has published it up to another one."""

    append_position: int
    published_position: int = NULL_POSITION


@dataclass(frozen=True, slots=True)
class LogCommitted:
    """The native agent of a leader has committed the log up to a position. It decides what the machine's ticks decide without an agent."""

    log_position: int


@dataclass(frozen=True, slots=True)
class LogConsumed:
    """The member has consumed the log, or a replay of it, up to a position: services may have it, and must not be shown it again."""

    log_position: int


@dataclass(frozen=True, slots=True)
class LogImageClosed:
    """The image of the log has closed: with the end of the stream when its leader closed gracefully."""

    is_end_of_stream: bool


@dataclass(frozen=True, slots=True)
class SendFailed:
    """A message could not be sent: there is no publication, it is not connected, or it pushes back."""

    member_id: int
    message: Message


@dataclass(frozen=True, slots=True)
class EffectFailed:
    """An effect could not be carried out."""

    reason: str


Result = (
    CandidateTermStored
    | TermStored
    | LogTruncated
    | LogStopped
    | LogPublicationAdded
    | LogReplicated
    | TermReplayed
    | ReplayDone
    | CatchupDestinationAdded
    | LogJoined
    | TermEventAppended
    | LogRecorded
    | LogCommitted
    | LogConsumed
    | LogImageClosed
    | SendFailed
    | EffectFailed
)
