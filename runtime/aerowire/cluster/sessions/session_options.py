"""Options of a member's sessions. Aeron: ConsensusModule.Context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aerowire.recordings.versions import compose_version

# Of clients and members that speak to each other. Aeron: AeronCluster.Configuration.PROTOCOL_SEMANTIC_VERSION.
PROTOCOL_VERSION: Final = compose_version(0, 3, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What a member allows its clients, and what it tells them. Times are in nanoseconds.

    `ingress_endpoints` lists where members take messages of clients, as `id=endpoint,...`.
    """

    member_id: int
    ingress_endpoints: str = ""
    max_sessions: int = 10
    session_timeout_ns: int = 10_000_000_000
    leader_heartbeat_timeout_ns: int = 10_000_000_000
    accept_standby_snapshots: bool = False
    standby_snapshot_notification_processing_delay_ns: int = 0
