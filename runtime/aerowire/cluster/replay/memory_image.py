"""Images over memory instead of a log buffer file: the frames of a recording, read as those of a stream are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from aerowire.base.errors import ClusterServiceError
from aerowire.base.ports import RegionPort
from aerowire.client.subscriptions.image import Image
from aerowire.codecs.flyweights.transport import TERM_LENGTH_MAX, DataHeaderEncoder
from aerowire.ipc.counters import CountersManager
from aerowire.logbuffer.log import LogBuffers
from aerowire.memory.region import Region

if TYPE_CHECKING:
    import os

    from aerowire.archive.files.recorded_frames import RecordedFrame
    from aerowire.recordings.catalog_entry import RecordingEntry

_TERMS: Final = 3
_COUNTERS_LENGTH: Final = 4096


class _Memory(RegionPort):
    """Makes regions without files."""

    def create(self, _path: str | os.PathLike[str], length: int, *, sparse: bool) -> Region:
        """Return a region of zeros, whose pages are made when they are touched."""
        del sparse
        return Region.anonymous(length)


class MemoryImage:
    """An image over three terms, and the counters of its reader: its own position, and how far it may read.

    `put` frames in order, each not before those of three terms earlier were read. Changed by its owner; `image` moves its position.
    """

    def __init__(self, entry: RecordingEntry, start_position: int, term_length: int | None = None) -> None:
        """`term_length` is that of the recording unless it is given: a longer one lets all of a recording lie there at once."""
        self.where = f"recording {entry.recording_id}"
        self._term_length = entry.term_buffer_length if term_length is None else term_length
        self._entry = entry
        self._logs = LogBuffers.create(
            self.where,
            term_length=self._term_length,
            mtu_length=entry.mtu_length,
            initial_term_id=entry.initial_term_id,
            session_id=entry.session_id,
            stream_id=entry.stream_id,
            correlation_id=entry.recording_id,
            sparse=True,
            regions=_Memory(),
        )
        self._terms = [self._logs.term_view(index) for index in range(_TERMS)]
        self.counters = CountersManager(Region.anonymous(4 * _COUNTERS_LENGTH), Region.anonymous(_COUNTERS_LENGTH))
        self._position_id = self.counters.allocate("position")
        self.limit_id = self.counters.allocate("limit")
        self.counters.set_value(self._position_id, start_position)
        self.image = Image(
            None,
            self._logs,
            self.counters,
            correlation_id=entry.recording_id,
            session_id=entry.session_id,
            stream_id=entry.stream_id,
            subscriber_position_id=self._position_id,
            source_identity=entry.source_identity,
            open_file=_no_file,
        )

    def put(self, frame: RecordedFrame) -> None:
        """Put a frame where it belongs, and let the reader read up to its end."""
        term, offset = divmod(frame.position, self._term_length)
        header, view = frame.header, self._terms[term % _TERMS]
        data = DataHeaderEncoder.encode(
            frame_length=header.frame_length,
            version=header.version,
            flags=header.flags,
            type=header.type,
            term_offset=offset,
            session_id=self._entry.session_id,
            stream_id=header.stream_id,
            term_id=self._term_id(term),
            reserved_value=header.reserved_value,
            payload=frame.payload,
        )
        view[offset : offset + len(data)] = data
        self.counters.set_value(self.limit_id, frame.next_position)

    def end(self, position: int) -> None:
        """Let the stream end at a position."""
        self._logs.eos_position = position

    def _term_id(self, term: int) -> int:
        low = (self._entry.initial_term_id + term) & 0xFFFFFFFF
        return low - (1 << 32) if low >> 31 else low


def term_length_for(entry: RecordingEntry, length: int) -> int:
    """Return a length of terms of which three hold a whole recording. Raises ClusterServiceError for one that is too long."""
    term_length = entry.term_buffer_length
    while _TERMS * term_length < length:
        term_length *= 2
    if term_length > TERM_LENGTH_MAX:
        raise ClusterServiceError(
            "a snapshot is too long to be loaded without an archive",
            where=f"recording {entry.recording_id}",
            expected=f"{_TERMS * TERM_LENGTH_MAX} bytes at most",
            actual=f"{length} bytes",
            hint="replay the log from its start",
        )
    return term_length


def _no_file(path: str) -> NoReturn:
    raise ClusterServiceError("a replay has no files of log buffers", where=path, expected="a poll other than raw_poll")
