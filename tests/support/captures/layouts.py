"""Records of a capture as templates: link headers, datagrams of some frames each, and which fields of a row fill them.

Many rows of one template are written at once as a matrix, one row a record.  It knows nothing of streams.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aerowire.codecs.dtypes import transport as dtypes
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, FrameType

Endpoint = tuple[str, int]
Rows = npt.NDArray[np.void]
Matrix = npt.NDArray[np.uint8]
RECORD = np.dtype([("seconds", "<u4"), ("fraction", "<u4"), ("captured", "<u4"), ("original", "<u4")])
# What one datagram of a capture is made of; `layout` and `link` are indexes, the rest what the layout's parts take from it.
EVENT = np.dtype(
    [
        *[("time", "i8"), ("layout", "i4"), ("link", "i4"), ("session_id", "i4"), ("stream_id", "i4"), ("term_id", "i4"), ("offset", "i4")],
        *[("a", "i8"), ("b", "i8"), ("c", "i8")],
    ]
)
KINDS: dict[FrameType, np.dtype[np.void]] = {
    FrameType.PAD: dtypes.DATA_HEADER,
    FrameType.DATA: dtypes.DATA_HEADER,
    FrameType.NAK: dtypes.NAK,
    FrameType.SM: dtypes.STATUS_MESSAGE,
    FrameType.ERR: dtypes.ERROR_FRAME,
    FrameType.SETUP: dtypes.SETUP,
    FrameType.RTTM: dtypes.RTTM,
    FrameType.RES: dtypes.FRAME_HEADER,
    FrameType.RSP_SETUP: dtypes.RESPONSE_SETUP,
}
TAG = np.dtype([("group_tag", "<i8")])


@dataclass(frozen=True)
class Link:
    """Who sends to whom, and the VLAN tags on the way."""

    source: Endpoint
    destination: Endpoint
    tags: tuple[int, ...] = ()

    @property
    def is_ip6(self) -> bool:
        return ":" in self.source[0]

    @property
    def network(self) -> int:
        """Bytes in front of the IP header."""
        return 14 + 4 * len(self.tags)

    @property
    def length(self) -> int:
        """Bytes in front of the UDP payload."""
        return self.network + (48 if self.is_ip6 else 28)

    def header(self, payload_length: int) -> bytes:
        """Return everything in front of a payload."""
        ends = (self.source, self.destination)
        ports = struct.pack(">HHHH", self.source[1], self.destination[1], 8 + payload_length, 0)
        tags = b"".join(struct.pack(">HH", tag, 5) for tag in self.tags)
        if self.is_ip6:
            addresses = b"".join(socket.inet_pton(socket.AF_INET6, end[0]) for end in ends)
            return bytes(12) + tags + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, 8 + payload_length, 17, 64) + addresses + ports
        addresses = b"".join(socket.inet_aton(end[0]) for end in ends)
        return bytes(12) + tags + b"\x08\0" + struct.pack(">BBHHHBBH", 0x45, 0, 28 + payload_length, 0, 0, 64, 17, 0) + addresses + ports


@dataclass(frozen=True)
class Part:
    """A structure at an offset of a payload: literal fields, fields from a column of the row, and what is added to those."""

    at: int
    dtype: np.dtype[np.void]
    kind: FrameType
    literal: dict[str, int]
    columns: dict[str, str]
    plus: dict[str, int]
    is_header: bool = True


@dataclass(frozen=True)
class Layout:
    """One kind of datagram."""

    parts: tuple[Part, ...]
    body: bytes  # of the whole payload; the parts are written over it

    def fill(self, matrix: Matrix, at: int, rows: Rows) -> list[tuple[Part, Rows]]:
        """Write the parts into the payloads, which start in column `at`; return them as views."""
        out = []
        for part in self.parts:
            view: Rows = np.ndarray((rows.size,), part.dtype, matrix.data, at + part.at, (matrix.shape[1],))
            for name, value in part.literal.items():
                view[name] = value
            for name, column in part.columns.items():
                view[name] = (rows[column] + part.plus.get(name, 0)).astype(part.dtype[name])
            out.append((part, view))
        return out


def control(kind: FrameType, columns: dict[str, str], length: int | None = None, tail: bytes = b"", **literal: int) -> Layout:
    """Return the layout of a control frame, with literal bytes behind its fixed part."""
    dtype = KINDS[kind]
    whole = dtype.itemsize + len(tail)
    fields = {"frame_length": whole if length is None else length, "version": 0, "flags": 0, "type": int(kind), **literal}
    common: dict[str, str] = {name: name for name in ("session_id", "stream_id") if name in (dtype.names or ())}
    part = Part(0, dtype, kind, {name: value for name, value in fields.items() if name not in columns}, {**common, **columns}, {})
    return Layout((part,), bytes(dtype.itemsize) + tail)


def tagged_status(columns: dict[str, str], tag: str, **literal: int) -> Layout:
    """Return the layout of a status message with a group tag behind it."""
    plain = control(FrameType.SM, columns, tail=bytes(8), **literal)
    behind = Part(KINDS[FrameType.SM].itemsize, TAG, FrameType.SM, {}, {"group_tag": tag}, {}, is_header=False)
    return Layout((*plain.parts, behind), plain.body)


def data(lengths_and_flags: tuple[tuple[int, int], ...], body: bytes) -> Layout:
    """Return the layout of a datagram of DATA frames, each of so many bytes of payload; `body` is what the payloads are cut from."""
    parts, at, header = [], 0, KINDS[FrameType.DATA]
    columns = {"session_id": "session_id", "stream_id": "stream_id", "term_id": "term_id", "term_offset": "offset", "reserved_value": "a"}
    for length, flags in lengths_and_flags:
        literal = {"frame_length": header.itemsize + length, "version": 0, "flags": flags, "type": int(FrameType.DATA)}
        parts.append(Part(at, header, FrameType.DATA, literal, columns, {"term_offset": at, "reserved_value": at}))
        at += align(header.itemsize + length, FRAME_ALIGNMENT)
    return Layout(tuple(parts), body[:at])


def pad_columns() -> dict[str, str]:
    """Return what a PAD frame takes from its row: `a` is its length."""
    return {"session_id": "session_id", "stream_id": "stream_id", "term_id": "term_id", "term_offset": "offset", "frame_length": "a"}


def unsigned(values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return integers as the unsigned ones of the same bytes, as other readers print them."""
    kind = values.dtype
    return values.astype(kind.newbyteorder("=")).view(f"u{kind.itemsize}").astype(np.uint64)
