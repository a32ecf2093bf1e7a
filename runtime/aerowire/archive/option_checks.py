"""Checks of the archive's options: ranges, forms, and what options demand of each other. Aeron: Archive.Context.conclude."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aerowire.base import units
from aerowire.base.option_checks import check_channel, check_powers_of_two, check_ranges, wrong_option
from aerowire.codecs.flyweights import transport
from aerowire.codecs.flyweights.archive_files import SEGMENT_LENGTH_MAX, SEGMENT_LENGTH_MIN
from aerowire.codecs.tables.archive_options import OPTIONS

if TYPE_CHECKING:
    from aerowire.archive.context import ArchiveContext

SYNC_LEVEL_MAX = 2

# Name -> lowest and highest value.
_RANGES: Mapping[str, tuple[int, int]] = {
    "error_buffer_length": (int(OPTIONS["error_buffer_length"].default or 0), transport.TERM_LENGTH_MAX),
    "segment_file_length": (SEGMENT_LENGTH_MIN, SEGMENT_LENGTH_MAX),
    "low_storage_space_threshold": (0, units.INT64_MAX),
    "file_sync_level": (0, SYNC_LEVEL_MAX),
    "catalog_file_sync_level": (0, SYNC_LEVEL_MAX),
    "catalog_capacity": (1, units.INT32_MAX),
    "file_io_max_length": (transport.TERM_LENGTH_MIN, transport.TERM_LENGTH_MAX),
    "control_term_buffer_length": (transport.TERM_LENGTH_MIN, transport.TERM_LENGTH_MAX),
    "control_mtu_length": (transport.MTU_MIN, transport.MAX_UDP_PAYLOAD),
    "connect_timeout_ns": (1_000_000, units.INT64_MAX),
    "session_liveness_check_interval_ns": (1_000_000, units.INT64_MAX),
    "max_concurrent_recordings": (0, units.INT32_MAX),
    "max_concurrent_replays": (0, units.INT32_MAX),
    "replay_linger_timeout_ns": (0, units.INT64_MAX),
    "conductor_cycle_threshold_ns": (0, units.INT64_MAX),
    "recorder_cycle_threshold_ns": (0, units.INT64_MAX),
    "replayer_cycle_threshold_ns": (0, units.INT64_MAX),
    "control_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "local_control_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "recording_events_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "archive_id": (units.INT64_MIN, units.INT64_MAX),
}
_POWERS_OF_TWO = ("segment_file_length", "file_io_max_length", "control_term_buffer_length")


def check_options(context: ArchiveContext) -> None:
    """Raise ConfigurationError for the first option that an archive cannot obey."""
    check_ranges(context, OPTIONS, _RANGES)
    check_powers_of_two(context, OPTIONS, _POWERS_OF_TWO)
    if context.control_mtu_length % transport.FRAME_ALIGNMENT:
        raise wrong_option(
            OPTIONS["control_mtu_length"], "is not aligned", f"a multiple of {transport.FRAME_ALIGNMENT}", context.control_mtu_length
        )
    if context.catalog_file_sync_level < context.file_sync_level:
        raise wrong_option(
            OPTIONS["catalog_file_sync_level"],
            "is below the level of recordings",
            f"at least file_sync_level={context.file_sync_level}",
            context.catalog_file_sync_level,
        )
    _check_channels(context)
    if context.media_driver_invoker is not None and not context.is_invoked:
        raise wrong_option(OPTIONS["threading_mode"], "does not fit media_driver_invoker", "INVOKER", context.threading_mode.value)


def _check_channels(context: ArchiveContext) -> None:
    if context.control_channel_enabled:
        _check_channel(context, "control_channel", "udp")
    _check_channel(context, "local_control_channel", "ipc")
    _check_channel(context, "replication_channel", None)
    if context.recording_events_enabled:
        _check_channel(context, "recording_events_channel", None)


def _check_channel(context: ArchiveContext, name: str, media: str | None) -> None:
    uri = check_channel(context, OPTIONS, name)
    if media is not None and (uri.media != media or uri.is_spy):
        raise wrong_option(OPTIONS[name], "has another medium", f"a channel of aeron:{media}", getattr(context, name))
