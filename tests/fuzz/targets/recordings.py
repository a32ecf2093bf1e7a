"""An Archive's directory with any bytes in catalog and segments: the list of recordings, their frames, their messages."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable
from pathlib import Path

from aerowire.pcap.archive.catalog import recordings
from aerowire.pcap.archive.damage import ArchiveError
from aerowire.pcap.archive.reading import read_recording
from tests.fuzz.fields import Fields, int32s, int64s
from tests.fuzz.target import FindingError
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog

RECORDING_ID, SEGMENTS = 3, 2
CHANGES_MAX = 8
CHUNK_LENGTHS = (1 << 20, 4096, 64)


class RecordingsTarget:
    """Changes of the catalog or of a segment (file, offset, length, bytes), then everything is read.

    The first byte chooses by its bits: frames or messages, the chunk length, whether a segment is missing or cut short.
    """

    name = "recordings"
    length_max = 256
    words = (
        int32s(TERM),
        int32s(1 << 30),
        int32s(2**31 - 1),
        int32s(-32),
        int32s(64),
        int64s(1 << 62),
        int64s(2**63 - 1),
        int64s(-1),
        int64s(TERM),
        b"\0\xc0\x01\0",
        b"\0\0\0\0",
    )
    traced = ("aerowire/pcap/archive/",)

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="recordings-"))
        writer = RecordingWriter(self._directory, RECORDING_ID, segment_length=TERM)
        dice = random.Random(1)
        while writer.position < TERM + TERM // 4:
            writer.some(dice, 1)
        writer.stop = writer.position
        write_catalog(self._directory, [writer])
        self._catalog = self._directory / "archive.catalog"
        self._files = [self._catalog, *(writer.segment(index * TERM)[0] for index in range(SEGMENTS))]
        self._good = [path.read_bytes() for path in self._files]
        self._rows = len(writer.rows), len(writer.messages)

    def seeds(self) -> Iterable[bytes]:
        """Return the good directory, and one change of each field of catalog and frame header."""
        for how in range(32):
            yield bytes([how, 0])
        for at in range(32, 176, 4):
            yield bytes([at & 1, 1, 0]) + at.to_bytes(2, "little") + b"\x04" + int32s(-1)
        for at in range(0, 32, 4):
            yield bytes([at >> 2 & 1, 1, 1]) + at.to_bytes(2, "little") + b"\x04" + int32s(0x01000001)

    def execute(self, data: bytes) -> None:
        """Change the files, list the recordings and read the one that there is."""
        fields = Fields(data)
        how = fields.unsigned(1)
        changes = fields.unsigned(1) % CHANGES_MAX
        changed = set()
        for _ in range(changes):
            index, offset = fields.unsigned(1) % len(self._files), fields.unsigned(2)
            changed.add(index)
            with self._files[index].open("r+b") as file:
                file.seek(offset % (len(self._good[index]) - 255))
                file.write(fields.take(fields.unsigned(1)))
        if how & 8:
            changed.add(1)
            self._files[1].unlink()
        if how & 16:
            changed.add(2)
            with self._files[2].open("r+b") as file:
                file.truncate(fields.unsigned(2))
        try:
            self._read(how, is_good=not changed)
        finally:
            for index in changed:
                self._files[index].write_bytes(self._good[index])

    def _read(self, how: int, *, is_good: bool) -> None:
        messages = bool(how & 1)
        try:
            table = recordings(self._directory)
            found = read_recording(self._directory, RECORDING_ID, messages=messages, chunk_length=CHUNK_LENGTHS[(how >> 1) % 3])
            rows = found.to_table()
        except ArchiveError as error:
            if is_good:
                raise FindingError("a good recording cannot be read") from error
            return
        if is_good and (table.num_rows != 1 or rows.num_rows != self._rows[messages]):
            raise FindingError(f"{rows.num_rows} of {self._rows[messages]} rows were read")
        if rows.num_rows * 32 > SEGMENTS * TERM:
            raise FindingError(f"{rows.num_rows} rows of {SEGMENTS} segments of {TERM} bytes")
