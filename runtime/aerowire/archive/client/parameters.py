"""What a replay and a replication can be told beyond the recording. Aeron: ReplayParams, ReplicationParams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights.archive_files import NULL_POSITION

__all__ = ["NULL_POSITION", "NULL_VALUE", "REPLAY_ALL_AND_FOLLOW", "REPLAY_ALL_AND_STOP", "ReplayParams", "ReplicationParams"]

# For "none": of ids, counters, tags and lengths.
NULL_VALUE: Final = -1
# Length of a replay that follows the recording for as long as it goes on.
REPLAY_ALL_AND_FOLLOW: Final = -1
# Length of a replay that ends where the recording has come to.
REPLAY_ALL_AND_STOP: Final = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayParams:
    """Which part of a recording is replayed, and how.

    `position` to start from; NULL_POSITION: the start of the recording. `length` in bytes, or REPLAY_ALL_AND_FOLLOW or
    REPLAY_ALL_AND_STOP. `file_io_max_length` is the most that the archive reads at a time; -1: its own limit. The replay stays at or below
    the value of counter `bounding_limit_counter_id`; -1: of none. `replay_token` allows a session other than that of the request to
    replay. `subscription_registration_id` is that of the subscription to a response channel, which `start_replay` needs.
    """

    position: int = NULL_POSITION
    length: int = REPLAY_ALL_AND_FOLLOW
    file_io_max_length: int = NULL_VALUE
    bounding_limit_counter_id: int = NULL_VALUE
    replay_token: int = NULL_VALUE
    subscription_registration_id: int = NULL_VALUE

    @property
    def is_bounded(self) -> bool:
        """Whether a counter limits the replay."""
        return self.bounding_limit_counter_id != NULL_VALUE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationParams:
    """How a recording is copied from another archive.

    `dst_recording_id` is the recording that is to hold the copy; -1: a new one. `stop_position` ends the copy; NULL_POSITION: the end of
    the source. With `live_destination` the copy merges with the live stream and follows it. `replication_channel` is that of the replay
    from the source; empty: the archive's own. The tags name the archive's subscription; -1: none. `replication_session_id` is the session
    of the replay; -1: one that the source chooses. `encoded_credentials` are for the source. With `src_response_channel` the source answers
    and replays on a response channel; empty: it does not.
    """

    dst_recording_id: int = NULL_VALUE
    stop_position: int = NULL_POSITION
    live_destination: str = ""
    replication_channel: str = ""
    channel_tag_id: int = NULL_VALUE
    subscription_tag_id: int = NULL_VALUE
    file_io_max_length: int = NULL_VALUE
    replication_session_id: int = NULL_VALUE
    encoded_credentials: bytes = b""
    src_response_channel: str = ""

    def __post_init__(self) -> None:
        if self.live_destination and self.replication_session_id != NULL_VALUE:
            raise ConfigurationError(
                "live_destination and replication_session_id exclude each other",
                where="ReplicationParams",
                expected="at most one of them",
                hint="a copy that merges with the live stream has the session of that stream",
            )
