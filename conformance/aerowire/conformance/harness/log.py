"""Log buffers as a client uses them, in plain Python: polling an image and offering to an exclusive publication."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from aerowire.codecs.flyweights.logbuffer import LOG_META_DATA_LENGTH, PARTITION_COUNT, LogMetadataDecoder
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataFlags, DataHeaderDecoder, DataHeaderEncoder, FrameType
from aerowire.conformance.harness.memory import Mapping
from aerowire.conformance.harness.ring import align

HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH
TERM_ID_SHIFT = 32
WORD_LENGTH = 8


class Fragment(NamedTuple):
    """One DATA frame as the log holds it. `position` is where the frame begins."""

    position: int
    flags: int
    session_id: int
    stream_id: int
    term_id: int
    reserved_value: int
    payload: bytes


class LogFile:
    """A mapped log: three terms and their metadata, which stands at the file's end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mapping = Mapping(path)
        self._metadata = self.mapping.length - LOG_META_DATA_LENGTH
        decoder = LogMetadataDecoder(self.mapping.buffer, self._metadata)
        self.term_length = decoder.term_length
        self.initial_term_id = decoder.initial_term_id
        self.mtu = decoder.mtu
        self.shift = self.term_length.bit_length() - 1

    def close(self) -> None:
        """Unmap the file."""
        self.mapping.close()

    @property
    def is_connected(self) -> bool:
        """Whether the driver marks the stream as received by somebody."""
        return self.mapping.i32(self._metadata + LogMetadataDecoder.IS_CONNECTED_OFFSET) == 1

    @property
    def end_of_stream_position(self) -> int:
        """Where the stream ends, or the largest number while it has not."""
        return self.mapping.i64(self._metadata + LogMetadataDecoder.END_OF_STREAM_POSITION_OFFSET)

    @property
    def active_transport_count(self) -> int:
        """How many places an image's stream comes in at."""
        return self.mapping.i32(self._metadata + LogMetadataDecoder.ACTIVE_TRANSPORT_COUNT_OFFSET)

    def locate(self, position: int) -> int:
        """Return the offset in the file of a stream position."""
        term_count = position >> self.shift
        return (term_count % PARTITION_COUNT) * self.term_length + (position & (self.term_length - 1))

    def tail_offset(self, partition: int) -> int:
        """Return the offset in the file of a partition's raw tail."""
        return self._metadata + LogMetadataDecoder.TAIL_COUNTERS_OFFSET + partition * WORD_LENGTH

    @property
    def active_term_count_offset(self) -> int:
        """Offset in the file of the count of completed terms."""
        return self._metadata + LogMetadataDecoder.ACTIVE_TERM_COUNT_OFFSET


class ImagePoller:
    """Reads an image in order from `position`; the caller publishes the position that it has consumed."""

    def __init__(self, log: LogFile, position: int) -> None:
        self.log = log
        self.position = position

    def poll(self, limit: int = 1000) -> list[Fragment]:
        """Return the next complete DATA frames, at most `limit`; padding is skipped."""
        mapping = self.log.mapping
        found: list[Fragment] = []
        while len(found) < limit:
            start = self.log.locate(self.position)
            frame_length = mapping.i32(start + DataHeaderDecoder.FRAME_LENGTH_OFFSET)
            if frame_length <= 0:
                break
            header = DataHeaderDecoder(mapping.buffer, start, HEADER_LENGTH)
            if header.type == FrameType.DATA:
                payload = mapping.bytes_at(start + HEADER_LENGTH, frame_length - HEADER_LENGTH)
                found.append(
                    Fragment(
                        self.position,
                        int(header.flags),
                        header.session_id,
                        header.stream_id,
                        header.term_id,
                        header.reserved_value,
                        payload,
                    )
                )
            self.position += align(frame_length, FRAME_ALIGNMENT)
        return found


class ExclusiveAppender:
    """Appends messages to an exclusive publication's log.

    Invariant: only this object writes the log's tails. The caller checks the position limit, or deliberately does not.
    """

    def __init__(self, log: LogFile, session_id: int, stream_id: int) -> None:
        self._log = log
        self._session_id = session_id
        self._stream_id = stream_id
        term_count = log.mapping.i32(log.active_term_count_offset)
        raw_tail = log.mapping.i64(log.tail_offset(term_count % PARTITION_COUNT))
        self.position = (term_count << log.shift) + (raw_tail & 0xFFFFFFFF)

    def append(self, message: bytes) -> int:
        """Append a message, in fragments where the MTU demands; return the position behind it."""
        payload_max = self._log.mtu - HEADER_LENGTH
        chunks = [message[at : at + payload_max] for at in range(0, len(message), payload_max)] or [b""]
        required = sum(align(HEADER_LENGTH + len(chunk), FRAME_ALIGNMENT) for chunk in chunks)
        left = self._log.term_length - (self.position & (self._log.term_length - 1))
        if required > left:
            self._put_frame(FrameType.PAD, DataFlags.UNFRAGMENTED, b"", left)
        for index, chunk in enumerate(chunks):
            flags = DataFlags(0)
            if index == 0:
                flags |= DataFlags.BEGIN
            if index == len(chunks) - 1:
                flags |= DataFlags.END
            self._put_frame(FrameType.DATA, flags, chunk, HEADER_LENGTH + len(chunk))
        return self.position

    def claim(self, length: int) -> int:
        """Claim a frame for a message that fits the term and leave it uncommitted; return the position behind it."""
        self._put_frame(FrameType.DATA, DataFlags.UNFRAGMENTED, bytes(length), HEADER_LENGTH + length, is_committed=False)
        return self.position

    def append_copies(self, message: bytes, count: int) -> int:
        """Append a message of one frame many times over within one term; return the position behind it.

        All at once and in no order: only for a stream that the driver may not send meanwhile.
        """
        log, start = self._log, self.position & (self._log.term_length - 1)
        frame = align(HEADER_LENGTH + len(message), FRAME_ALIGNMENT)
        if len(message) > log.mtu - HEADER_LENGTH or start + count * frame >= log.term_length:
            raise ValueError(f"{count} messages of {len(message)} bytes do not fit behind term offset {start}, a frame each")
        before, behind = DataHeaderDecoder.TERM_OFFSET_OFFSET, DataHeaderDecoder.SESSION_ID_OFFSET
        header = DataHeaderEncoder.encode(
            frame_length=HEADER_LENGTH + len(message),
            type=FrameType.DATA,
            flags=DataFlags.UNFRAGMENTED,
            session_id=self._session_id,
            stream_id=self._stream_id,
            term_id=wrap_i32(log.initial_term_id + (self.position >> log.shift)),
        )
        rest = (header[behind:] + message).ljust(frame - behind, b"\0")
        offsets = range(start, start + count * frame, frame)
        frames = b"".join(header[:before] + offset.to_bytes(4, "little") + rest for offset in offsets)
        log.mapping.put_bytes(log.locate(self.position), frames)
        self._advance(len(frames))
        return self.position

    def _put_frame(self, kind: FrameType, flags: DataFlags, payload: bytes, frame_length: int, *, is_committed: bool = True) -> None:
        log, mapping = self._log, self._log.mapping
        start = log.locate(self.position)
        term_count = self.position >> log.shift
        header = DataHeaderEncoder.encode(
            frame_length=-frame_length,
            type=kind,
            flags=flags,
            term_offset=self.position & (log.term_length - 1),
            session_id=self._session_id,
            stream_id=self._stream_id,
            term_id=wrap_i32(log.initial_term_id + term_count),
        )
        mapping.put_bytes(start, header)
        mapping.put_bytes(start + HEADER_LENGTH, payload)
        self._advance(align(frame_length, FRAME_ALIGNMENT))
        # The positive length publishes the frame; it must be stored last.
        if is_committed:
            mapping.put_i32(start + DataHeaderDecoder.FRAME_LENGTH_OFFSET, frame_length)

    def _advance(self, length: int) -> None:
        log, mapping = self._log, self._log.mapping
        before = self.position >> log.shift
        self.position += length
        after = self.position >> log.shift
        term_offset = self.position & (log.term_length - 1)
        if after != before:
            old_term = wrap_i32(log.initial_term_id + before)
            mapping.put_i64(log.tail_offset(before % PARTITION_COUNT), (old_term << TERM_ID_SHIFT) | log.term_length)
        new_term = wrap_i32(log.initial_term_id + after)
        mapping.put_i64(log.tail_offset(after % PARTITION_COUNT), (new_term << TERM_ID_SHIFT) | term_offset)
        if after != before:
            mapping.put_i32(log.active_term_count_offset, after)


def wrap_i32(value: int) -> int:
    """Wrap to a signed 32-bit integer, as term ids do."""
    return (value + 0x80000000) % 0x100000000 - 0x80000000
