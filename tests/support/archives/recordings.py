"""Writes directories of an Archive from literal values: a catalog by the generated encoders, and segment files frame by frame."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aerowire.codecs.dtypes.archive import CATALOG_HEADER, RECORDING_DESCRIPTOR, RECORDING_DESCRIPTOR_HEADER
from aerowire.codecs.flyweights.archive_files import CATALOG_ALIGNMENT, CATALOG_FILE_NAME, CATALOG_VERSION, SEGMENT_FILE_NAME
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataFlags, DataHeaderDecoder, DataHeaderEncoder, FrameType

TERM = 64 << 10
Row = tuple[int, int, bytes | None]  # position, flags, payload or None for padding


@dataclass
class RecordingWriter:
    """A recording in a directory, written as an Archive does: segment files of their full length, grown frame by frame."""

    directory: Path
    recording_id: int = 0
    start: int = 0
    initial_term_id: int = 7
    segment_length: int = 2 * TERM
    mtu: int = 1408
    stream_id: int = 1001
    channel: str = "aeron:ipc"
    stop: int = -1
    state: int = 1
    position: int = field(init=False)
    rows: list[Row] = field(default_factory=list)
    messages: list[tuple[int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.position = self.start

    def segment(self, position: int) -> tuple[Path, int]:
        base = self.start - self.start % TERM
        begin = position - (position - base) % self.segment_length
        return self.directory / SEGMENT_FILE_NAME.format(recording_id=self.recording_id, position=begin), position - begin

    def write(self, position: int, data: bytes) -> None:
        path, offset = self.segment(position)
        if not path.exists():
            path.write_bytes(bytes(self.segment_length))
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def frame(self, payload: bytes, flags: int) -> None:
        data = self._encoded(flags=flags, reserved_value=len(self.rows), payload=payload)
        self.write(self.position, data)
        self.rows.append((self.position, flags, payload))
        self.position += align(len(data), FRAME_ALIGNMENT)

    def pad(self) -> None:
        """Fill what is left of the term."""
        length = TERM - self.position % TERM
        self.write(self.position, self._encoded(frame_length=length, type=FrameType.PAD))
        self.rows.append((self.position, DataFlags.UNFRAGMENTED, None))
        self.position += length

    def message(self, payload: bytes) -> None:
        """Write a message, over as many frames as it needs, in one term."""
        longest = self.mtu - DataHeaderDecoder.ENCODED_LENGTH
        parts = [payload[at : at + longest] for at in range(0, len(payload), longest)] or [b""]
        needed = sum(align(DataHeaderDecoder.ENCODED_LENGTH + len(part), FRAME_ALIGNMENT) for part in parts)
        if self.position % TERM + needed > TERM:
            self.pad()
        self.messages.append((self.position, payload))
        for number, part in enumerate(parts):
            self.frame(part, (DataFlags.BEGIN if number == 0 else 0) | (DataFlags.END if number == len(parts) - 1 else 0))

    def some(self, rng: random.Random, count: int) -> None:
        for _ in range(count):
            # Without zeros: a last frame that ends in a page of them is taken for one that is still being written.
            self.message(rng.randbytes(rng.choice((0, 1, 31, 32, 100, 700, 1376, 1377, 5000))).replace(b"\0", b"\1"))

    def entry(self) -> bytes:
        """Return the catalog's entry."""
        texts = b"".join(struct.pack("<I", len(text)) + text for text in (self.channel.encode(), self.channel.encode(), b"source"))
        descriptor = np.zeros(1, RECORDING_DESCRIPTOR)
        values = {
            "recordingId": self.recording_id,
            "startPosition": self.start,
            "stopPosition": self.stop,
            "stopTimestamp": -1 if self.stop < 0 else 2,
            "startTimestamp": 1,
            "initialTermId": self.initial_term_id,
            "segmentFileLength": self.segment_length,
            "termBufferLength": TERM,
            "mtuLength": self.mtu,
            "sessionId": 7,
            "streamId": self.stream_id,
        }
        for name, value in values.items():
            descriptor[name] = value
        body = descriptor.tobytes() + texts
        header = np.zeros(1, RECORDING_DESCRIPTOR_HEADER)
        body += bytes(-(len(body) + header.itemsize) % CATALOG_ALIGNMENT)
        header["length"], header["state"] = len(body), self.state
        return header.tobytes() + body

    def _encoded(self, **values: Any) -> bytes:
        term_id = (self.initial_term_id + self.position // TERM + (1 << 31)) % (1 << 32) - (1 << 31)
        offset = self.position % TERM
        return DataHeaderEncoder.encode(session_id=7, stream_id=self.stream_id, term_id=term_id, term_offset=offset, **values)


def write_catalog(directory: Path, writers: Sequence[RecordingWriter]) -> None:
    """Write the catalog of a directory at once, so that no reader sees half of it."""
    header = np.zeros(1, CATALOG_HEADER)
    header["version"], header["length"], header["alignment"], header["nextRecordingId"] = (
        CATALOG_VERSION,
        header.itemsize,
        CATALOG_ALIGNMENT,
        len(writers),
    )
    data = header.tobytes() + b"".join(writer.entry() for writer in writers)
    whole = directory / "catalog.new"
    whole.write_bytes(data + bytes(4096))
    whole.rename(directory / CATALOG_FILE_NAME)
