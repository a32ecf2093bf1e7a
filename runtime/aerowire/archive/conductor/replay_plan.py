"""Which part of a recording a replay sends, or why it may not. Values in, values out. Aeron: ArchiveConductor.startReplay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.base.units import INT64_MAX
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.recordings.geometry import is_frame_aligned

if TYPE_CHECKING:
    from aerowire.archive.control.requests import Replay
    from aerowire.recordings.catalog_entry import RecordingEntry

REPLAY_ALL_AND_FOLLOW = -1
REPLAY_ALL_AND_STOP = -2


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """A replay that may be made. Invariant: start of the recording <= position, and length >= 0.

    `stop_position` is how far the recording has come: the position of its counter, or of the counter that bounds the replay.
    """

    position: int
    length: int
    stop_position: int

    @property
    def limit_position(self) -> int:
        """Where the replay ends."""
        return self.position + self.length


def plan_replay(entry: RecordingEntry, request: Replay, limit_position: int | None, io_length: int) -> ReplayPlan:
    """Return the part that a request asks for. Raises RequestRefusedError.

    `limit_position` is the value of the counter that bounds the replay: the client's, or that of a recording that goes on. `io_length` is
    the most that the archive reads at a time.
    """
    position = _start(entry, request.position)
    _check_io_length(entry, request.file_io_max_length, io_length)
    if limit_position is None:
        stop_position, most = entry.stop_position, entry.stop_position - position
    elif position > limit_position:
        raise _beyond(entry.recording_id, position, limit_position)
    else:
        stop_position, most = limit_position, INT64_MAX - position
    return ReplayPlan(position, _length(entry.recording_id, request.length, position, stop_position, most), stop_position)


def _start(entry: RecordingEntry, position: int) -> int:
    if position == NULL_POSITION:
        return entry.start_position
    if not is_frame_aligned(position):
        raise RequestRefusedError(
            f"requested replay start position={position} is not a multiple of FRAME_ALIGNMENT ({FRAME_ALIGNMENT}) "
            f"for recording {entry.recording_id}",
            ArchiveErrorCode.INVALID_POSITION,
        )
    if position < entry.start_position:
        raise RequestRefusedError(
            f"requested replay start position={position} is less than recording start position={entry.start_position} "
            f"for recording {entry.recording_id}",
            ArchiveErrorCode.INVALID_POSITION,
        )
    if entry.stop_position != NULL_POSITION and position >= entry.stop_position:
        raise _beyond(entry.recording_id, position, entry.stop_position)
    return position


def _check_io_length(entry: RecordingEntry, file_io_max_length: int, io_length: int) -> None:
    if 0 < file_io_max_length < entry.mtu_length:
        raise RequestRefusedError(f"fileIoMaxLength={file_io_max_length} < mtuLength={entry.mtu_length}")
    if io_length < entry.mtu_length:
        raise RequestRefusedError(f"replayBufferCapacity={io_length} < mtuLength={entry.mtu_length}")


def _length(recording_id: int, length: int, position: int, stop_position: int, most: int) -> int:
    if length == REPLAY_ALL_AND_FOLLOW:
        found = most
    elif length == REPLAY_ALL_AND_STOP:
        found = stop_position - position
        if found == 0:
            raise RequestRefusedError(
                f"when replaying and stopping the replay length must be non-zero, recordingId={recording_id}",
                ArchiveErrorCode.EMPTY_RECORDING,
            )
    else:
        found = min(length, most)
    if found < 0:
        raise RequestRefusedError(
            f"replay length must be positive: replayLength={found}, length={length}, stopPosition={stop_position}, "
            f"replayPosition={position} for recording {recording_id}"
        )
    return found


def _beyond(recording_id: int, position: int, limit_position: int) -> RequestRefusedError:
    return RequestRefusedError(
        f"requested replay start position={position} must be less than the limit position={limit_position} for recording {recording_id}",
        ArchiveErrorCode.INVALID_POSITION,
    )
