"""Capture files with any bytes in them: the walk over records, the search for frames, all that a table is made of."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from aerowire.pcap.capture import Capture
from aerowire.pcap.errors import CaptureError
from tests.fuzz.fields import int32s

CAPTURES = Path(__file__).resolve().parents[2] / "data" / "captures"


class CaptureTarget:
    """A file; it is read at once and in chunks of the least length."""

    name = "pcap"
    length_max = 1500
    words = (
        b"\xd4\xc3\xb2\xa1",
        b"\x4d\x3c\xb2\xa1",
        b"\x0a\x0d\x0d\x0a",
        b"\x4d\x3c\x2b\x1a",
        int32s(1),
        int32s(113),
        int32s(6),
        b"\x08\x00\x45\x00",
    )
    traced = ("aerowire/pcap/",)

    def __init__(self) -> None:
        self._path = Path(tempfile.mkdtemp(prefix="capture-")) / "file.pcap"

    def seeds(self) -> Iterable[bytes]:
        """Return the first packets of a few captures."""
        for path in sorted(CAPTURES.glob("*.pcap"))[:6]:
            yield path.read_bytes()[: self.length_max]

    def execute(self, data: bytes) -> None:
        """Read the file."""
        self._path.write_bytes(data)
        for chunk_length in (1 << 20, 64):
            try:
                table = Capture(self._path, payload=True, chunk_length=chunk_length).read()
            except CaptureError:
                continue
            assert table.num_rows <= len(data)
