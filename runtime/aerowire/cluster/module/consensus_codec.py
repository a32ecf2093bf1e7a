"""Messages between members as bytes of schema 111, and back. Aeron: ConsensusPublisher, ConsensusAdapter.

A message of another schema, of an unknown template, or a damaged one is none; so is one whose endpoint cannot stand in a channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from aerowire.cluster.consensus import messages
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.cluster.dispatch import decode
from aerowire.codecs.flyweights.cluster.enums import BooleanType
from aerowire.codecs.flyweights.cluster.messages.append_position import AppendPosition
from aerowire.codecs.flyweights.cluster.messages.backup_query import BackupQuery
from aerowire.codecs.flyweights.cluster.messages.canvass_position import CanvassPosition
from aerowire.codecs.flyweights.cluster.messages.catchup_position import CatchupPosition
from aerowire.codecs.flyweights.cluster.messages.challenge_response import ChallengeResponse
from aerowire.codecs.flyweights.cluster.messages.commit_position import CommitPosition
from aerowire.codecs.flyweights.cluster.messages.heartbeat_request import HeartbeatRequest
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term import NewLeadershipTerm
from aerowire.codecs.flyweights.cluster.messages.request_vote import RequestVote
from aerowire.codecs.flyweights.cluster.messages.standby_snapshot import StandbySnapshot
from aerowire.codecs.flyweights.cluster.messages.stop_catchup import StopCatchup
from aerowire.codecs.flyweights.cluster.messages.termination_ack import TerminationAck
from aerowire.codecs.flyweights.cluster.messages.termination_position import TerminationPosition
from aerowire.codecs.flyweights.cluster.messages.vote import Vote
from aerowire.codecs.support.errors import SbeError

# What goes to the consensus stream beside the messages that elections and commits are made of.
Request: TypeAlias = TerminationAck | BackupQuery | HeartbeatRequest | ChallengeResponse | StandbySnapshot

_RECORDS: Final[Mapping[type, Any]] = {
    messages.CanvassPosition: CanvassPosition,
    messages.RequestVote: RequestVote,
    messages.Vote: Vote,
    messages.NewLeadershipTerm: NewLeadershipTerm,
    messages.AppendPosition: AppendPosition,
    messages.CommitPosition: CommitPosition,
    messages.CatchupPosition: CatchupPosition,
    messages.StopCatchup: StopCatchup,
    messages.TerminationPosition: TerminationPosition,
}
_KINDS: Final[Mapping[type, Any]] = {record: kind for kind, record in _RECORDS.items()}
# No endpoint that a name service knows is that long, and a channel with one has to fit into the archive's stream of requests.
ENDPOINT_LENGTH_MAX: Final = 1024
_BOOLEANS: Final = frozenset({"vote", "is_startup"})
# The values of fields that an older peer does not send.
_ABSENT: Final[Mapping[str, object]] = {"flags": messages.APPEND_POSITION_FLAG_NONE, "app_version": 0, "commit_position": NULL_POSITION}


def encode_message(message: messages.Message, cluster_time: int) -> bytes:
    """Return a message with its header. A leader's announcement gets the time of the cluster, in the cluster's unit."""
    fields: dict[str, Any] = {name: getattr(message, name) for name in message.__dataclass_fields__}
    for name in _BOOLEANS & fields.keys():
        fields[name] = BooleanType.TRUE if fields[name] else BooleanType.FALSE
    if "timestamp" in fields:
        fields["timestamp"] = cluster_time
    encoded: bytes = _RECORDS[type(message)](**fields).encode()
    return encoded


def decode_message(data: bytes) -> messages.Message | Request | None:
    """Return what a message on the consensus stream says; None of one that says nothing here."""
    try:
        decoded: Any = decode(data)
    except SbeError:
        return None
    kind = _KINDS.get(type(decoded))
    if kind is not None:
        return _value_of(decoded, kind)
    return decoded if isinstance(decoded, Request) else None


def _value_of(decoded: Any, kind: Any) -> messages.Message | None:
    fields: dict[str, Any] = {name: getattr(decoded, name) for name in kind.__dataclass_fields__}
    for name in _BOOLEANS & fields.keys():
        fields[name] = fields[name] == BooleanType.TRUE
    for name, absent in _ABSENT.items():
        if name in fields and fields[name] is None:
            fields[name] = absent
    if "catchup_endpoint" in fields and not _is_endpoint(fields["catchup_endpoint"]):
        return None
    value: messages.Message = kind(**fields)
    return value


def _is_endpoint(text: str) -> bool:
    """Return whether a text is an endpoint as far as that it ends neither a parameter of a channel nor the channel."""
    return len(text) <= ENDPOINT_LENGTH_MAX and text.isascii() and text.isprintable() and not set(text) & set("|?= ") and ":" in text
