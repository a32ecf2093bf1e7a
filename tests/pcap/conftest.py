"""Builders of capture files for these tests, packets in every link layer and files in every format, from literal bytes."""

from __future__ import annotations

import json
import random
import socket
import struct
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderEncoder, NakEncoder, SetupEncoder, StatusMessageEncoder

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
SENDER, RECEIVER = ("10.0.0.1", 40001), ("10.0.0.2", 40002)
Endpoint = tuple[str, int]


def golden_index() -> dict[str, dict[str, Any]]:
    return dict(json.loads((CAPTURES / "index.json").read_text()))


def udp(payload: bytes, source: Endpoint, destination: Endpoint) -> bytes:
    return struct.pack(">HHHH", source[1], destination[1], 8 + len(payload), 0) + payload


def ip4(payload: bytes, source: Endpoint, destination: Endpoint, *, options: bytes = b"", fragment: int = 0, protocol: int = 17) -> bytes:
    body = udp(payload, source, destination)
    header = struct.pack(">BBHHHBBH", 0x45 + len(options) // 4, 0, 20 + len(options) + len(body), 0, fragment, 64, protocol, 0)
    return header + socket.inet_aton(source[0]) + socket.inet_aton(destination[0]) + options + body


def ip6(payload: bytes, source: Endpoint, destination: Endpoint, *, extensions: Sequence[tuple[int, bytes]] = ()) -> bytes:
    """`extensions`: header numbers and their bytes, whose first byte is replaced by what follows."""
    body = udp(payload, source, destination)
    following = 17
    for number, data in reversed(extensions):
        body = bytes([following]) + data[1:] + body
        following = number
    addresses = socket.inet_pton(socket.AF_INET6, source[0]) + socket.inet_pton(socket.AF_INET6, destination[0])
    return struct.pack(">IHBB", 6 << 28, len(body), following, 64) + addresses + body


def ethernet(packet: bytes, *, tags: Sequence[int] = (), source: bytes = bytes(6)) -> bytes:
    kind = b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"
    return bytes(6) + source + b"".join(struct.pack(">HH", tag, 5) for tag in tags) + kind + packet


def classic(packets: Sequence[bytes], *, magic: int = 0xA1B23C4D, order: str = "<", link_type: int = 1, snap: int = 262144) -> bytes:
    """Return a classic capture; packet n is of second 1,700,000,000 + n and fraction n."""
    out = bytearray(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap, link_type))
    for number, data in enumerate(packets):
        out += struct.pack(order + "IIII", 1_700_000_000 + number, number, min(snap, len(data)), len(data)) + data[:snap]
    return bytes(out)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack(order + "II", kind, 12 + len(body)) + body + struct.pack(order + "I", 12 + len(body))


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(link_type: int = 1, *, name: str = "", resolution: int | None = None, offset_s: int = 0, order: str = "<") -> bytes:
    options = option(2, name.encode(), order) if name else b""
    options += option(9, bytes([resolution]), order) if resolution is not None else b""
    options += option(14, struct.pack(order + "q", offset_s), order) if offset_s else b""
    return block(1, struct.pack(order + "HHI", link_type, 0, 0) + options + (option(0, b"", order) if options else b""), order)


def enhanced(data: bytes, *, number: int = 0, ticks: int = 0, comment: str = "", order: str = "<") -> bytes:
    options = option(2, struct.pack(order + "I", 1), order) + option(1, comment.encode(), order) + option(0, b"", order) if comment else b""
    body = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFF_FFFF, len(data), len(data)) + data + bytes(-len(data) % 4)
    return block(6, body + options, order)


def data_frame(offset: int, body: bytes, **fields: int) -> bytes:
    frame = DataHeaderEncoder.encode(**{"session_id": 7, "stream_id": 1001, "term_id": 3, "term_offset": offset, **fields}, payload=body)
    return frame + bytes(-len(frame) % FRAME_ALIGNMENT)


def conversation(rng: random.Random, count: int) -> list[tuple[bytes, Endpoint, Endpoint]]:
    """Return datagrams of one stream with status messages and NAKs, some with several frames."""
    out = [
        (
            SetupEncoder.encode(session_id=7, stream_id=1001, initial_term_id=3, active_term_id=3, term_length=1 << 26, mtu=1408),
            SENDER,
            RECEIVER,
        )
    ]
    offset = 0
    while len(out) < count:
        kind = rng.random()
        if kind < 0.1:
            status = StatusMessageEncoder.encode(session_id=7, stream_id=1001, consumption_term_id=3, receiver_window=131072, receiver_id=5)
            out.append((status, RECEIVER, SENDER))
        elif kind < 0.15:
            out.append((NakEncoder.encode(session_id=7, stream_id=1001, term_id=3, term_offset=offset, length=1408), RECEIVER, SENDER))
        else:
            payload = b""
            for _ in range(1 if rng.random() < 0.8 else 3):
                frame = data_frame(offset, rng.randbytes(rng.randint(0, 300)))
                payload, offset = payload + frame, offset + len(frame)
            out.append((payload, SENDER, RECEIVER))
    return out


@pytest.fixture(scope="session")
def build() -> SimpleNamespace:
    """The builders of this file, for tests that cannot import it."""
    return SimpleNamespace(**{name: value for name, value in globals().items() if callable(value) or name.isupper()})


@pytest.fixture(scope="session")
def plain_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `--py-files` ships: the packages that read captures and recordings, in pure Python, with the directories as entries."""
    root = Path(__file__).parent.parent.parent
    archive = tmp_path_factory.mktemp("zip") / "aerowire.zip"
    with zipfile.ZipFile(archive, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each root brings the entry of the namespace
        for top, name in (("pcap", "aerowire/pcap"), ("generated", "aerowire/codecs"), ("runtime", "aerowire/recordings")):
            for path in [root / top / "aerowire", root / top / name, *sorted((root / top / name).rglob("*"))]:
                if path.is_dir() or path.suffix == ".py":
                    file.write(path, path.relative_to(root / top))
    return archive
