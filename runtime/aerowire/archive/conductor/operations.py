"""Every operation by the name under which requests are routed to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.archive.conductor.listings import Listings
    from aerowire.archive.conductor.positions import Positions
    from aerowire.archive.conductor.recordings import Recordings
    from aerowire.archive.conductor.replays import Replays
    from aerowire.archive.conductor.replications import Replications
    from aerowire.archive.conductor.segments import Segments
    from aerowire.archive.conductor.truncation import Truncation


class Operations:
    """The methods of ArchiveOperations, each of the part that does it."""

    def __init__(
        self,
        *,
        recordings: Recordings,
        replays: Replays,
        listings: Listings,
        positions: Positions,
        truncation: Truncation,
        segments: Segments,
        replications: Replications,
    ) -> None:
        self.start_recording = recordings.start
        self.extend_recording = recordings.extend
        self.stop_recording = recordings.stop
        self.stop_recording_subscription = recordings.stop_subscription
        self.stop_recording_by_identity = recordings.stop_by_identity
        self.start_replay = replays.start
        self.stop_replay = replays.stop
        self.stop_all_replays = replays.stop_all
        self.replay_token = replays.generate_token
        self.list_recordings = listings.recordings
        self.list_recordings_for_uri = listings.recordings_for_uri
        self.list_recording = listings.recording
        self.list_recording_subscriptions = listings.subscriptions
        self.find_last_matching_recording = listings.find_last
        self.update_channel = listings.update_channel
        self.recording_position = positions.recording_position
        self.start_position = positions.start_position
        self.stop_position = positions.stop_position
        self.max_recorded_position = positions.max_recorded_position
        self.archive_id = positions.archive_id
        self.truncate_recording = truncation.truncate
        self.purge_recording = truncation.purge
        self.detach_segments = segments.detach
        self.delete_detached_segments = segments.delete_detached
        self.purge_segments = segments.purge
        self.attach_segments = segments.attach
        self.migrate_segments = segments.migrate
        self.replicate = replications.replicate
        self.stop_replication = replications.stop
