"""Checks of the consensus module's options: ranges, forms, and what options demand of each other. Aeron: ConsensusModule.Context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aerowire.base import units
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ConfigurationError
from aerowire.base.option_checks import check_channel, check_powers_of_two, check_ranges, wrong_option
from aerowire.codecs.flyweights import transport
from aerowire.codecs.tables.cluster_options import OPTIONS

if TYPE_CHECKING:
    from aerowire.cluster.module.context import ConsensusModuleContext

SERVICE_COUNT_MAX = 10
_SYNC_LEVEL_MAX = 2
# A startup canvass lasts at least that many heartbeat timeouts.
_CANVASS_HEARTBEATS_MIN = 2

# Name -> lowest and highest value.
_RANGES: Mapping[str, tuple[int, int]] = {
    "error_buffer_length": (int(OPTIONS["error_buffer_length"].default or 0), transport.TERM_LENGTH_MAX),
    "file_sync_level": (0, _SYNC_LEVEL_MAX),
    "cluster_id": (units.INT32_MIN, units.INT32_MAX),
    "cluster_member_id": (units.INT32_MIN, units.INT32_MAX),
    "appointed_leader_id": (units.INT32_MIN, units.INT32_MAX),
    "ingress_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "ingress_fragment_limit": (1, units.INT32_MAX),
    "max_sessions": (0, units.INT32_MAX),
    "session_timeout_ns": (1, units.INT64_MAX),
    "log_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "log_fragment_limit": (1, units.INT32_MAX),
    "replay_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "consensus_module_snapshot_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "total_snapshot_threshold_ns": (0, units.INT64_MAX),
    "standby_snapshot_notification_processing_delay_ns": (0, units.INT64_MAX),
    "consensus_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "leader_heartbeat_timeout_ns": (1, units.INT64_MAX),
    "leader_heartbeat_interval_ns": (1, units.INT64_MAX),
    "startup_canvass_timeout_ns": (1, units.INT64_MAX),
    "election_timeout_ns": (1, units.INT64_MAX),
    "election_status_interval_ns": (1, units.INT64_MAX),
    "termination_timeout_ns": (0, units.INT64_MAX),
    "service_count": (0, SERVICE_COUNT_MAX),
    "consensus_module_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "service_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "cycle_threshold_ns": (0, units.INT64_MAX),
    "wheel_tick_resolution_ns": (1, units.INT64_MAX),
    "ticks_per_wheel": (1, 1 << 30),
}
_CHANNELS = (
    "ingress_channel",
    "log_channel",
    "follower_catchup_channel",
    "replication_channel",
    "leader_archive_control_channel",
    "replay_channel",
    "snapshot_channel",
    "consensus_channel",
    "control_channel",
)
_OF_LOG_POSITION = ("init-term-id", "term-id", "term-offset")


def check_options(context: ConsensusModuleContext) -> None:
    """Raise ConfigurationError for the first option that a consensus module cannot obey."""
    if not context.members:
        raise wrong_option(
            OPTIONS["cluster_members"], "is not set", "id,ingress,consensus,log,catchup,archive|...", repr(context.cluster_members)
        )
    check_ranges(context, OPTIONS, _RANGES)
    check_powers_of_two(context, OPTIONS, ("ticks_per_wheel",))
    if context.startup_canvass_timeout_ns // context.leader_heartbeat_timeout_ns < _CANVASS_HEARTBEATS_MIN:
        raise wrong_option(
            OPTIONS["startup_canvass_timeout_ns"],
            "is too short",
            f"{_CANVASS_HEARTBEATS_MIN} times leader_heartbeat_timeout_ns={context.leader_heartbeat_timeout_ns} at least",
            context.startup_canvass_timeout_ns,
        )
    for name in _CHANNELS:
        check_channel(context, OPTIONS, name)
    log = ChannelUri.parse(context.log_channel)
    for key in _OF_LOG_POSITION:
        if key in log:
            raise wrong_option(OPTIONS["log_channel"], f"must not contain {key}", "a channel without a position", context.log_channel)
    if context.egress_channel:
        check_channel(context, OPTIONS, "egress_channel")
    if context.media_driver_invoker is not None and not context.use_agent_invoker:
        raise ConfigurationError(
            "media_driver_invoker needs a consensus module that is invoked",
            where="use_agent_invoker",
            expected=True,
            actual=context.use_agent_invoker,
        )
