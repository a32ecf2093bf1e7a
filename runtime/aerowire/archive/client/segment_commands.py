"""Operations on the segment files of a recording. Aeron: AeronArchive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.client.archive_commands import ArchiveCommands, blocking, nothing, number
from aerowire.codecs.flyweights.archive.messages.attach_segments_request import AttachSegmentsRequest
from aerowire.codecs.flyweights.archive.messages.delete_detached_segments_request import DeleteDetachedSegmentsRequest
from aerowire.codecs.flyweights.archive.messages.detach_segments_request import DetachSegmentsRequest
from aerowire.codecs.flyweights.archive.messages.migrate_segments_request import MigrateSegmentsRequest
from aerowire.codecs.flyweights.archive.messages.purge_segments_request import PurgeSegmentsRequest

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending


class SegmentCommands(ArchiveCommands):
    """The front of a recording, in whole segment files. `segment_file_base_position` says where they begin."""

    def async_detach_segments(self, recording_id: int, new_start_position: int) -> Pending[None]:
        """Let a recording begin at a later segment; the files before it stay where they are. Refused for a position that begins none."""
        what = f"detach the segments of recording {recording_id} before {new_start_position}"
        return self._ask(DetachSegmentsRequest, what, nothing, recording_id=recording_id, new_start_position=new_start_position)

    detach_segments = blocking(async_detach_segments)

    def async_delete_detached_segments(self, recording_id: int) -> Pending[int]:
        """Delete the files before the start of a recording; the result is how many. The archive signals DELETE when they are gone."""
        what = f"delete the detached segments of recording {recording_id}"
        return self._ask(DeleteDetachedSegmentsRequest, what, number, recording_id=recording_id)

    delete_detached_segments = blocking(async_delete_detached_segments)

    def async_purge_segments(self, recording_id: int, new_start_position: int) -> Pending[int]:
        """Detach segments and delete them; the result is how many files. The archive signals DELETE when they are gone."""
        what = f"purge the segments of recording {recording_id} before {new_start_position}"
        return self._ask(PurgeSegmentsRequest, what, number, recording_id=recording_id, new_start_position=new_start_position)

    purge_segments = blocking(async_purge_segments)

    def async_attach_segments(self, recording_id: int) -> Pending[int]:
        """Let a recording begin with the files that there are before its start; the result is how many were attached."""
        return self._ask(AttachSegmentsRequest, f"attach segments to recording {recording_id}", number, recording_id=recording_id)

    attach_segments = blocking(async_attach_segments)

    def async_migrate_segments(self, src_recording_id: int, dst_recording_id: int) -> Pending[int]:
        """Move all segments of a stopped recording in front of, or behind, another that it joins; the result is how many were moved."""
        what = f"migrate the segments of recording {src_recording_id} to recording {dst_recording_id}"
        return self._ask(MigrateSegmentsRequest, what, number, src_recording_id=src_recording_id, dst_recording_id=dst_recording_id)

    migrate_segments = blocking(async_migrate_segments)
