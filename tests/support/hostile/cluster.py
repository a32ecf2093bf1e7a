"""Messages to a cluster that a hostile client, member or service draws from a seed.

Some are damaged or have extreme values. Others are such as the cluster's rules accept: of members that there are, of the term that there
is, with positions around the log's end. Kept back are those by which the rules let anybody end a term, a member, or the session of another
client: of these `election` draws the ones that begin an election.
"""

from __future__ import annotations

import enum
import random
import sys
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from aerowire.cluster.consensus.core import TERM_GAP_MAX
from aerowire.codecs.flyweights import cluster
from aerowire.codecs.support.errors import SbeError
from tests.support.hostile.values import CHANNELS, HEADER_LENGTH, INT64S, LENGTHS, damaged

SCHEMA_ID = 111
# A session, position or acknowledgement that far ahead is nobody's, however long an attack lasts.
FAR = 1 << 40
SERVICE_MESSAGE_MAX = 200
ENDPOINTS = ("127.0.0.1:1", "127.0.0.1:0", "no.such.host.invalid:1", "[::1]:0", "127.0.0.1:99999", "a/../b:1", ":", "x:" + "1" * 5_000)
INGRESS = ("SessionMessageHeader", "SessionConnectRequest", "SessionCloseRequest", "SessionKeepAlive", "ChallengeResponse", "AdminRequest")
CONSENSUS = (
    "CanvassPosition",
    "RequestVote",
    "Vote",
    "NewLeadershipTerm",
    "AppendPosition",
    "CommitPosition",
    "CatchupPosition",
    "StopCatchup",
    "TerminationPosition",
    "TerminationAck",
    "BackupQuery",
    "HeartbeatRequest",
    "StandbySnapshot",
    "ChallengeResponse",
)
SERVICE = ("SessionMessageHeader", "CloseSession", "ScheduleTimer", "CancelTimer", "ServiceAck", "ClusterMembersQuery")
ELECTION = ("RequestVote", "NewLeadershipTerm", "CommitPosition", "CanvassPosition", "Vote")
OTHERS = (*INGRESS, *CONSENSUS, *SERVICE, "SessionEvent", "JoinLog", "SnapshotMarker", "TimerEvent", "ClusterActionRequest")
# Of a message with eight bytes, which an honest client alone sends: the services keep their numbers.
_NUMBER_MESSAGE_LENGTH = len(cluster.SessionMessageHeader(leadership_term_id=0, cluster_session_id=0, timestamp=0).encode()) + 8
_SESSION_MESSAGE = cluster.SessionMessageHeader(leadership_term_id=0, cluster_session_id=0, timestamp=0).encode()[:HEADER_LENGTH]


@dataclass
class ClusterView:
    """What an attacker knows of a cluster. `sessions` are open ones of its own, whose messages and ends are its own affair."""

    member_ids: tuple[int, ...]
    leader_id: int = 0
    leadership_term_id: int = 0
    log_position: int = 0
    sessions: list[int] = field(default_factory=list)


class HostileMessages:
    """Draws messages for a cluster of which `view` tells. Changed by each draw."""

    def __init__(self, seed: int, view: ClusterView, channels: tuple[str, ...] = ()) -> None:
        """`channels` may be drawn for responses, beside those that lead nowhere."""
        self.dice = random.Random(seed)
        self.view = view
        self._channels = (*CHANNELS, *channels)
        self._correlation_id = 1

    def ingress(self) -> bytes:
        """Return what a client would not send, or only by mistake."""
        return self._draw(INGRESS)

    def consensus(self) -> bytes:
        """Return a message of a member, a backup or a standby that begins no election."""
        return self._draw(CONSENSUS)

    def service(self) -> bytes:
        """Return a message of a service to its consensus module."""
        return self._draw(SERVICE)

    def election(self) -> bytes:
        """Return a message for which the rules begin an election, or which disturbs one."""
        view, dice = self.view, self.dice
        message = self._record(dice.choice(ELECTION))
        term_id = view.leadership_term_id + dice.choice((1, 1, 1, 2, 10))
        if isinstance(message, cluster.RequestVote):
            message.candidate_term_id, message.candidate_member_id = term_id, dice.choice(view.member_ids)
        elif isinstance(message, cluster.NewLeadershipTerm | cluster.CommitPosition):
            message.leadership_term_id, message.leader_member_id = term_id, dice.choice(view.member_ids)
        encoded: bytes = message.encode()
        return encoded

    def _draw(self, names: tuple[str, ...]) -> bytes:
        while True:
            kind = self.dice.random()
            encoded: bytes = self._record(self.dice.choice(names if kind < 0.9 else OTHERS)).encode()
            if kind > 0.8:
                encoded = damaged(self.dice, encoded, SCHEMA_ID)
            elif kind > 0.6:
                encoded = self._overwritten(encoded)
            if encoded.startswith(_SESSION_MESSAGE):
                encoded += self.dice.randbytes(self.dice.choice((0, 1, 7, SERVICE_MESSAGE_MAX)))
                if len(encoded) == _NUMBER_MESSAGE_LENGTH:  # damage may have made it longer
                    encoded += b"!"
            if not self._is_kept_back(encoded):
                return encoded

    def _overwritten(self, encoded: bytes) -> bytes:
        """Return a message with a value anywhere that no encoder writes there."""
        at = self.dice.randrange(HEADER_LENGTH, len(encoded) + 1)
        value = self.dice.choice(INT64S).to_bytes(8, "little", signed=True)
        return encoded[:at] + value[: len(encoded) - at] + encoded[at + 8 :]

    def _is_kept_back(self, encoded: bytes) -> bool:
        """Return whether a message would end a term, a member, or the session of another client."""
        try:
            message: Any = cluster.decode(encoded)
        except SbeError:
            return False
        match message:
            case cluster.RequestVote():
                is_kept_back = self._is_believed(message.candidate_member_id, message.candidate_term_id)
            case cluster.NewLeadershipTerm() | cluster.CommitPosition():
                is_kept_back = self._is_believed(message.leader_member_id, message.leadership_term_id)
            case cluster.TerminationPosition():
                is_kept_back = 0 <= message.log_position < FAR
            case cluster.ServiceAck():
                is_kept_back = 0 <= message.ack_id < FAR
            case cluster.JoinLog() | cluster.ServiceTerminationPosition():
                is_kept_back = True
            case _:
                session_id = getattr(message, "cluster_session_id", 0)
                is_kept_back = 0 < session_id < FAR and session_id not in self.view.sessions
        return is_kept_back

    def _is_believed(self, member_id: int, term_id: int) -> bool:
        own = self.view.leadership_term_id
        return member_id in self.view.member_ids and own < term_id <= own + 2 * TERM_GAP_MAX

    # Values

    def _record(self, name: str) -> Any:
        """Return a message of a kind with values that are drawn."""
        kind = getattr(cluster, name)
        return kind(**self._values(kind))

    def _values(self, kind: Any) -> dict[str, Any]:
        hints = typing.get_type_hints(kind)
        return {name: self._value(kind, name, hint) for name, hint in hints.items() if not name.startswith("_")}

    def _value(self, kind: Any, name: str, hint: Any) -> Any:
        dice = self.dice
        (value_type, *_) = typing.get_args(hint) or (hint,)
        if typing.get_origin(hint) is list:
            value: Any = [value_type(**self._values(value_type)) for _ in range(dice.choice((0, 1, 3)))]
        elif value_type is str:
            value = dice.choice(ENDPOINTS if name.endswith("endpoint") else self._channels)
        elif value_type is bytes:
            value = dice.randbytes(dice.choice(LENGTHS[:4]))
        elif issubclass(value_type, enum.Enum):
            value = dice.choice([one for one in value_type if one.name != "NULL_VALUE"])
        else:
            plausible = self._plausible(name) if dice.random() < 0.7 else ()
            value = dice.choice(plausible or _numbers(kind, name))
        return value

    def _plausible(self, name: str) -> Sequence[int]:
        """Return numbers that a member, client or service might write into a field; none of one in which anything is odd."""
        view = self.view
        if name == "correlation_id":
            self._correlation_id += 1
            return (self._correlation_id,)
        if name.endswith("term_id"):
            return [max(-1, view.leadership_term_id + ahead) for ahead in (0, 0, 0, -1, 1)]
        if name.endswith("position"):
            return [max(0, view.log_position + ahead) for ahead in (0, 0, 32, -32, 1, 1 << 16, 1 << 26, FAR)]
        return view.member_ids if name.endswith("member_id") else view.sessions if name == "cluster_session_id" else ()


def _numbers(kind: Any, name: str) -> Sequence[int]:
    """Return the edges of what a field can have."""
    decoder: Any = getattr(sys.modules[kind.__module__], f"{kind.__name__}Decoder")
    least, most = (getattr(decoder, f"{name.upper()}_{edge}_VALUE") for edge in ("MIN", "MAX"))
    return [least, most, *(one for one in INT64S if least <= one <= most)]
