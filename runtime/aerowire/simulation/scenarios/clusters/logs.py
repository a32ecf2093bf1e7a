"""Logs on the disks of members' archives, frame by frame: the same at all members except for session ids."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from aerowire.base.errors import FileError
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent, NewLeadershipTermEventDecoder
from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameType
from aerowire.recordings.geometry import aligned_frame_length
from aerowire.recordings.segment_names import segment_name
from aerowire.simulation.host import ARCHIVE_DIR

if TYPE_CHECKING:
    from aerowire.simulation.host import SimulatedHost

SEGMENT_OF_LOG = 64 * 1024  # of all nodes
_HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH
_EVENT_HEAD = NewLeadershipTermEvent(
    leadership_term_id=0,
    log_position=0,
    timestamp=0,
    term_base_log_position=0,
    leader_member_id=0,
    log_session_id=0,
    time_unit=None,
    app_version=0,
).encode()[: -NewLeadershipTermEventDecoder.SBE_BLOCK_LENGTH]


class Entry(NamedTuple):
    """A frame of a log: its term, the position behind it, and a digest of the log up to there."""

    term_id: int
    end: int
    digest: bytes


class MemberLog:
    """The log on one host's disk, as far as it was read. Changed by `read`.

    `entries` are those of the log from its beginning. Invariant: each digest covers the frames up to its own.
    """

    def __init__(self, host: SimulatedHost) -> None:
        self.entries: list[Entry] = []
        self._host = host
        self._recording_id = 0

    @property
    def end(self) -> int:
        """The position up to which it was read."""
        return self.entries[-1].end if self.entries else 0

    def read(self, recording_id: int, end: int, *, anew: bool = False) -> list[Entry]:
        """Read on up to a position, or anew where the log may have been cut; return what was read."""
        if anew or recording_id != self._recording_id:
            self.entries.clear()
        self._recording_id = recording_id
        while self.entries and self.entries[-1].end > end:
            self.entries.pop()
        known = len(self.entries)
        position = self.end
        while position < end:
            segment = position - position % SEGMENT_OF_LOG
            try:
                with self._host.files.open(f"{ARCHIVE_DIR}/{segment_name(recording_id, segment)}") as file:
                    data = file.read(0, SEGMENT_OF_LOG)
            except FileError:
                break
            if (found := self._read_segment(data, segment, position, end)) == position:
                break
            position = found
        return self.entries[known:]

    def _read_segment(self, data: bytes, segment: int, position: int, end: int) -> int:
        term_id, digest = (self.entries[-1].term_id, self.entries[-1].digest) if self.entries else (-1, b"")
        while position < min(end, segment + SEGMENT_OF_LOG):
            offset = position - segment
            header = DataHeaderDecoder(data[offset : offset + _HEADER_LENGTH])
            if header.frame_length < _HEADER_LENGTH:
                break
            frame = b""
            if header.type != FrameType.PAD:
                frame = data[offset + _HEADER_LENGTH : offset + header.frame_length]
                if frame.startswith(_EVENT_HEAD):
                    term_id = NewLeadershipTermEvent.decode(frame).leadership_term_id
            position += aligned_frame_length(header.frame_length)
            digest = blake2b(digest + position.to_bytes(8, "little") + frame, digest_size=16).digest()
            self.entries.append(Entry(term_id, position, digest))
        return position
