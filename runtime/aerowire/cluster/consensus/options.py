"""Options of a member's consensus: times in nanoseconds, and the appointed leader. Aeron: ConsensusModule.Configuration."""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.base.errors import ConfigurationError

MILLISECOND_NS = 1_000_000
NULL_MEMBER_ID = -1


@dataclass(frozen=True, slots=True)
class ConsensusOptions:
    """Times that a member's elections and its heartbeats keep to. The defaults are Aeron's (`aerowire.codecs.tables.cluster_options`)."""

    leader_heartbeat_timeout_ns: int = 10_000 * MILLISECOND_NS
    leader_heartbeat_interval_ns: int = 200 * MILLISECOND_NS
    startup_canvass_timeout_ns: int = 60_000 * MILLISECOND_NS
    election_timeout_ns: int = 1_000 * MILLISECOND_NS
    election_status_interval_ns: int = 100 * MILLISECOND_NS
    appointed_leader_id: int = NULL_MEMBER_ID
    app_version: int = 0

    def __post_init__(self) -> None:
        """Check the times. Raises ConfigurationError."""
        for name in (
            "leader_heartbeat_timeout_ns",
            "leader_heartbeat_interval_ns",
            "startup_canvass_timeout_ns",
            "election_timeout_ns",
            "election_status_interval_ns",
        ):
            if getattr(self, name) <= 0:
                raise ConfigurationError("invalid time of consensus", where=name, expected="more than 0 ns", actual=getattr(self, name))
        if self.leader_heartbeat_interval_ns >= self.leader_heartbeat_timeout_ns:
            raise ConfigurationError(
                "invalid time of consensus",
                where="leader_heartbeat_interval_ns",
                expected=f"less than leader_heartbeat_timeout_ns={self.leader_heartbeat_timeout_ns}",
                actual=self.leader_heartbeat_interval_ns,
            )
