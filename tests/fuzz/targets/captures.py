"""Capture files with any bytes in them: the walk over records, the search for frames, all that a table is made of."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable
from pathlib import Path

from aerowire.pcap.capture import Capture
from aerowire.pcap.errors import CaptureError
from tests.fuzz.fields import int32s
from tests.support.captures.damage import classic, ng, packets_of

CAPTURES = Path(__file__).resolve().parents[2] / "data" / "captures"


def with_every_block(packets: list[bytes]) -> bytes:
    """Return a pcapng capture with options in its interfaces, packets in each kind of block, and a block of no known kind."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    resolutions = (b"\x09", b"\x86")
    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    for resolution in resolutions:
        options = struct.pack("<HH", 2, 2) + b"lo\0\0" + struct.pack("<HH", 9, 1) + resolution + bytes(3)
        options += struct.pack("<HHqHH", 14, 8, 3600, 0, 0)
        out += block(1, struct.pack("<HHI", 1, 0, 96) + options)
    for index, packet in enumerate(packets):
        length = len(packet)
        padding = bytes(-length % 4)
        comment = struct.pack("<HH", 1, 3) + b"one\0" + bytes(4)
        out += block(6, struct.pack("<IIIII", index % 2, 0x60000, index, length, length) + packet + padding + comment)
        out += block(3, struct.pack("<I", length) + packet[:96])
        out += block(2, struct.pack("<HHIIII", index % 2, 0, 0x60000, index, length, length) + packet)
        out += block(0x0BAD, packet[:16])
    return out[: CaptureTarget.length_max]


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
        """Return the first packets of a few captures, in every format that is read."""
        for path in sorted(CAPTURES.glob("*.pcap"))[:6]:
            yield path.read_bytes()[: self.length_max]
            packets = packets_of(path)[:3]
            for order in "<>":
                yield bytes(ng(packets, order).data)[: self.length_max]
            yield bytes(classic(packets, ">").data)[: self.length_max]
            yield with_every_block(packets)

    def execute(self, data: bytes) -> None:
        """Read the file."""
        self._path.write_bytes(data)
        for chunk_length in (1 << 20, 64):
            try:
                table = Capture(self._path, payload=True, chunk_length=chunk_length).read()
            except CaptureError:
                continue
            assert table.num_rows <= len(data)
