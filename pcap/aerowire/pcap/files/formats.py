"""Formats of capture files, told apart by their first bytes, and the header of classic pcap files."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from aerowire.pcap.errors import CaptureError

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
# magic -> (little-endian, nanoseconds in one unit of the record's fraction)
CLASSIC_MAGICS = {
    b"\xd4\xc3\xb2\xa1": (True, 1000),
    b"\xa1\xb2\xc3\xd4": (False, 1000),
    b"\x4d\x3c\xb2\xa1": (True, 1),
    b"\xa1\xb2\x3c\x4d": (False, 1),
}
FILE_HEADER_LENGTH = 24
RECORD_HEADER_LENGTH = 16
RECORD_LENGTH_MAX = 262144  # what capture tools themselves refuse to exceed
SNAP_LENGTH_MAX = 4 << 20  # a header that claims more is not believed


@dataclass(frozen=True, slots=True)
class ClassicHeader:
    """What a classic file says of all its records."""

    little_endian: bool
    tick_ns: int
    record_length_max: int
    link_type: int
    snap_length: int = 0

    @classmethod
    def parse(cls, data: bytes, name: str) -> ClassicHeader:
        """Read the file header; raise CaptureError when it is short or has another magic."""
        if len(data) < FILE_HEADER_LENGTH or data[:4] not in CLASSIC_MAGICS:
            raise CaptureError(f"{name}: not a capture: expected a pcap or pcapng file header, found {data[:8].hex(' ') or 'nothing'}")
        little_endian, tick_ns = CLASSIC_MAGICS[data[:4]]
        snap_length, link_type = struct.unpack_from("<II" if little_endian else ">II", data, 16)
        limit = max(RECORD_LENGTH_MAX, snap_length) if snap_length <= SNAP_LENGTH_MAX else RECORD_LENGTH_MAX
        return cls(little_endian, tick_ns, limit, link_type & 0x0FFF_FFFF, snap_length)

    @property
    def record_dtype(self) -> np.dtype[np.void]:
        return np.dtype([(name, self.integer) for name in ("seconds", "fraction", "captured", "original")])

    @property
    def integer(self) -> str:
        """NumPy's name for the integers of record headers."""
        return "<u4" if self.little_endian else ">u4"
