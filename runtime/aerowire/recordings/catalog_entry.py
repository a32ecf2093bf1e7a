"""An entry of the catalog: a recording, what was recorded and how. Bytes in, values out, and back.

Nothing in an entry is trusted: a descriptor that cannot be is read all the same, with what is wrong with it. Aeron: Catalog.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from struct import Struct
from typing import TYPE_CHECKING, Final, Protocol

from aerowire.codecs.flyweights.archive import (
    RecordingDescriptorDecoder,
    RecordingDescriptorEncoder,
    RecordingDescriptorHeaderDecoder,
    RecordingDescriptorHeaderEncoder,
    RecordingState,
)
from aerowire.codecs.flyweights.archive_files import NULL_POSITION, NULL_TIMESTAMP, SEGMENT_LENGTH_MAX, SEGMENT_LENGTH_MIN
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, MAX_UDP_PAYLOAD, TERM_LENGTH_MAX, TERM_LENGTH_MIN
from aerowire.recordings.geometry import is_frame_aligned, segment_base_position, term_base_position, term_id_at

if TYPE_CHECKING:
    from typing_extensions import Buffer

ENTRY_LENGTH_MIN: Final = RecordingDescriptorDecoder.SBE_BLOCK_LENGTH
_HEADER_LENGTH: Final = RecordingDescriptorHeaderDecoder.SBE_BLOCK_LENGTH
_TEXT_LENGTH = 4  # bytes of the length that stands before each text
_TEXTS = 3
# The fields of RecordingDescriptorHeader and of RecordingDescriptor, in their order: one look instead of one for each.
_HEADER_FIELDS = Struct("<iii")
_DESCRIPTOR_FIELDS = Struct("<7q6i")
_UNPACK_LENGTH = Struct("<I").unpack_from
_STATES = {member.value: member for member in RecordingState if member is not RecordingState.NULL_VALUE}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingEntry:
    """An entry of a catalog.

    Invariant where damage is None: lengths are powers of two and fit each other, positions are multiples of 32, start <= stop or no stop.
    `entry_length` is in bytes, header and padding excluded and included; 0 for an entry that is not in a catalog yet.
    """

    recording_id: int
    start_timestamp_ms: int
    stop_timestamp_ms: int = NULL_TIMESTAMP
    start_position: int
    stop_position: int = NULL_POSITION  # while it is recorded
    initial_term_id: int
    segment_file_length: int
    term_buffer_length: int
    mtu_length: int
    session_id: int
    stream_id: int
    stripped_channel: str
    original_channel: str
    source_identity: str
    control_session_id: int = 0
    correlation_id: int = 0
    recording_state: RecordingState = RecordingState.VALID
    checksum: int = 0
    catalog_offset: int = -1
    entry_length: int = 0
    damage: str | None = None

    @property
    def is_active(self) -> bool:
        return self.stop_position == NULL_POSITION

    @property
    def is_valid(self) -> bool:
        return self.damage is None and self.recording_state is RecordingState.VALID

    @property
    def segment_length(self) -> int:
        return max(self.segment_file_length, self.term_buffer_length)

    @property
    def base_position(self) -> int:
        """Where the term of the start position begins: segments are counted from there."""
        return term_base_position(self.start_position, self.term_buffer_length)

    def segment_of(self, position: int) -> int:
        """Return where the segment that holds a position begins."""
        return segment_base_position(position, self.start_position, self.term_buffer_length, self.segment_file_length)

    def needed_segments(self) -> range:
        """Return where the segments begin that hold a stopped recording; none where it is empty."""
        if self.start_position == self.stop_position:
            return range(0)
        return range(self.segment_of(self.start_position), self.stop_position, self.segment_length)

    def term_id_of(self, position: int) -> int:
        """Return the id of the term that holds a position."""
        return term_id_at(position, self.initial_term_id, self.term_buffer_length)


def decode_entry(data: Buffer, offset: int, end: int) -> RecordingEntry:
    """Return the entry in data[offset:end], which has room for header and descriptor at least; `damage` says what is wrong with it."""
    view = memoryview(data)
    length, state_value, checksum = _HEADER_FIELDS.unpack_from(view, offset)
    fields = _DESCRIPTOR_FIELDS.unpack_from(view, offset + _HEADER_LENGTH)
    control_session_id, correlation_id, recording_id, start_timestamp_ms, stop_timestamp_ms, start_position, stop_position = fields[:7]
    initial_term_id, segment_file_length, term_buffer_length, mtu_length, session_id, stream_id = fields[7:]
    texts, damage = _texts(view, offset + _HEADER_LENGTH + ENTRY_LENGTH_MIN, min(end, len(view)))
    if state_value not in _STATES:
        damage = damage or f"state {state_value}, expected one of {sorted(_STATES)}"
    entry = RecordingEntry(
        recording_id=recording_id,
        start_timestamp_ms=start_timestamp_ms,
        stop_timestamp_ms=stop_timestamp_ms,
        start_position=start_position,
        stop_position=stop_position,
        initial_term_id=initial_term_id,
        segment_file_length=segment_file_length,
        term_buffer_length=term_buffer_length,
        mtu_length=mtu_length,
        session_id=session_id,
        stream_id=stream_id,
        stripped_channel=texts[0],
        original_channel=texts[1],
        source_identity=texts[2],
        control_session_id=control_session_id,
        correlation_id=correlation_id,
        recording_state=_STATES.get(state_value, RecordingState.INVALID),
        checksum=checksum,
        catalog_offset=offset,
        entry_length=length,
        damage=damage,
    )
    problem = damage or implausible_fields(entry)
    return entry if problem is damage else replace(entry, damage=problem)


def encode_entry(entry: RecordingEntry, alignment: int) -> bytearray:
    """Return the bytes of an entry, header and padding included; the checksum is the entry's own. Texts are ASCII, with ? for the rest."""
    texts = [text.encode("ascii", "replace") for text in (entry.stripped_channel, entry.original_channel, entry.source_identity)]
    length = align(_HEADER_LENGTH + ENTRY_LENGTH_MIN + sum(_TEXT_LENGTH + len(text) for text in texts), alignment)
    data = bytearray(length)
    header = RecordingDescriptorHeaderEncoder().wrap(data)
    header.length, header.state, header.checksum = length - _HEADER_LENGTH, entry.recording_state, entry.checksum
    fields = RecordingDescriptorEncoder().wrap(data, _HEADER_LENGTH)
    fields.control_session_id, fields.correlation_id = entry.control_session_id, entry.correlation_id
    fields.recording_id = entry.recording_id
    fields.start_timestamp, fields.stop_timestamp = entry.start_timestamp_ms, entry.stop_timestamp_ms
    fields.start_position, fields.stop_position = entry.start_position, entry.stop_position
    fields.initial_term_id = entry.initial_term_id
    fields.segment_file_length, fields.term_buffer_length = entry.segment_file_length, entry.term_buffer_length
    fields.mtu_length, fields.session_id, fields.stream_id = entry.mtu_length, entry.session_id, entry.stream_id
    fields.stripped_channel, fields.original_channel, fields.source_identity = texts
    return data


def _texts(view: memoryview, offset: int, end: int) -> tuple[list[str], str | None]:
    """Return the texts in view[offset:end], and what is wrong with them."""
    found = [""] * _TEXTS
    for number in range(_TEXTS):
        start = offset + _TEXT_LENGTH
        length = _UNPACK_LENGTH(view, offset)[0] if start <= end else int.from_bytes(view[offset:end], "little")
        if start + length > end:
            return found, f"text {number} of {length} bytes leaves its entry, which has {max(end - start, 0)} bytes left"
        found[number] = str(view[start : start + length], "ascii", "backslashreplace")
        offset = start + length
    return found, None


class DescribedRecording(Protocol):
    """What an entry of a catalog and the descriptor that a client gets have in common."""

    @property
    def recording_id(self) -> int: ...
    @property
    def start_position(self) -> int: ...
    @property
    def stop_position(self) -> int: ...
    @property
    def segment_file_length(self) -> int: ...
    @property
    def term_buffer_length(self) -> int: ...
    @property
    def mtu_length(self) -> int: ...


def implausible_fields(entry: DescribedRecording) -> str | None:
    """Return what of a descriptor cannot be, or None."""
    term, segment, mtu = entry.term_buffer_length, entry.segment_file_length, entry.mtu_length
    start, stop = entry.start_position, entry.stop_position
    if not TERM_LENGTH_MIN <= term <= TERM_LENGTH_MAX or term & (term - 1):
        return f"termBufferLength {term}, expected a power of two from {TERM_LENGTH_MIN} to {TERM_LENGTH_MAX}"
    if not SEGMENT_LENGTH_MIN <= segment <= SEGMENT_LENGTH_MAX or segment & (segment - 1):
        return f"segmentFileLength {segment}, expected a power of two from {SEGMENT_LENGTH_MIN} to {SEGMENT_LENGTH_MAX}"
    if not FRAME_ALIGNMENT < mtu <= MAX_UDP_PAYLOAD:
        return f"mtuLength {mtu}, expected {FRAME_ALIGNMENT + 1} to {MAX_UDP_PAYLOAD}"
    if entry.recording_id < 0 or start < 0 or not is_frame_aligned(start):
        return f"recordingId {entry.recording_id}, startPosition {start}: expected numbers from 0, the position a multiple of 32"
    if stop != NULL_POSITION and (stop < start or not is_frame_aligned(stop)):
        return f"stopPosition {stop}, expected {NULL_POSITION} or a multiple of {FRAME_ALIGNMENT} from startPosition {start}"
    return None
