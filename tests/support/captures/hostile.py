"""Traffic that is not Aeron but looks like it: DNS, STUN, NTP, RTP, QUIC, length-prefixed protocols, lone perfect frames; and mixtures."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.captures.layouts import Endpoint, Link

Talk = Iterator[tuple[bytes, bool]]  # payloads, and whether the client sends


def dns(rng: random.Random) -> Talk:
    """Queries and answers; the header of a query without an answer reads as padding, and some are 32, 64 or 96 bytes long."""
    for _ in range(rng.choice((1, 1, 1, 4))):
        labels = [bytes([rng.randint(97, 122)]) * rng.randint(1, 20) for _ in range(rng.randint(1, 4))]
        name = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
        question = name + b"\0\1\0\1"
        identity, additional = rng.randrange(65536), rng.random() < 0.5
        yield struct.pack(">HHHHHH", identity, 0x0100, 1, 0, 0, additional) + question + b"\0\0\x29\x04\xd0\0\0\0\0\0\0" * additional, True
        if rng.random() < 0.5:
            yield (
                struct.pack(">HHHHHH", identity, 0x8180, 1, 1, 0, 0) + question + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + rng.randbytes(4),
                False,
            )


def stun(rng: random.Random) -> Talk:
    """Binding requests and answers, some of the old kind without the cookie."""
    for _ in range(3):
        identity = rng.choice((b"\x21\x12\xa4\x42", bytes(4), rng.randbytes(4))) + rng.randbytes(12)
        yield struct.pack(">HH", 1, 0) + identity, True
        yield struct.pack(">HH", 0x0101, 12) + identity + b"\0\x20\0\x08\0\1" + rng.randbytes(6), False


def ntp(rng: random.Random) -> Talk:
    """Requests full of zeros read as padding; with a checksum behind them they are 64 bytes long."""
    tail = bytes(16) if rng.random() < 0.5 else b""
    yield b"\x23\0\0\0" + (bytes(44) if rng.random() < 0.5 else rng.randbytes(44)) + tail, True
    if rng.random() < 0.5:
        yield b"\x24\x01\x03\xe9" + bytes(8) + rng.randbytes(36) + tail, False


def rtp(rng: random.Random) -> Talk:
    """A call: numbered packets whose clock starts anywhere, low numbers included."""
    sequence, clock, source = rng.choice((0, rng.randrange(65536))), rng.choice((0, rng.randrange(2**32))), rng.randrange(2**32)
    for number in range(20):
        packet = struct.pack(
            ">BBHII", 0x80, rng.choice((0, 96, 0x80)), (sequence + number) & 0xFFFF, (clock + number * 160) & 0xFFFFFFFF, source
        )
        yield packet + rng.randbytes(rng.choice((20, 160, 244))), rng.random() < 0.8


def quic(rng: random.Random) -> Talk:
    """Long headers of versions 0 (negotiation), 1 and 2, then short ones."""
    connection = rng.randbytes(8)
    for version in (0, 1, 1, 0x6B3343CF):
        first = bytes([rng.choice((0xC0, 0xC3, 0x80, 0xE0))])
        head = first + struct.pack(">I", version) + b"\x08" + rng.choice((connection, bytes(8))) + b"\x08" + rng.randbytes(8)
        yield head + rng.randbytes(rng.choice((32 - len(head) % 32, 1200 - len(head)))), version != 0
    for _ in range(10):
        yield bytes([0x40 | rng.randrange(64)]) + connection + rng.randbytes(rng.randint(20, 1200)), rng.random() < 0.5


def length_prefixed(rng: random.Random) -> Talk:
    """A little-endian length, version 0, some flags, type 0 or 1, a running number: as near to a frame as other protocols come."""
    first = rng.choice((0, 1, rng.randrange(2**32)))
    for number in range(6):
        body = rng.choice((bytes, rng.randbytes))(rng.choice((20, 52, 84, rng.randrange(200))))
        kind = rng.choice((0, 1, 1, 1, 2, 3, 5))
        flags = rng.choice((0, 0xC0))
        head = struct.pack("<IBBHI", len(body) + 12 if rng.random() < 0.9 else len(body), 0, flags, kind, (first + number) & 0xFFFFFFFF)
        yield head + body, number % 2 == 0


def looks_alike(rng: random.Random) -> Talk:
    """Whole frames of Aeron's length and type, each with one thing that no sender sends."""
    for number in range(8):
        body = bytes(28) if rng.random() < 0.5 else rng.randbytes(28)
        yield struct.pack("<IBBHI", 40, 0, 0xC0, 1, number * 32) + body, True  # a length that is not the datagram's
        yield struct.pack("<IBBHI", 64, 0, 0xC0, 1, number * 32 + 16) + bytes(52), True  # an offset that is not aligned
        yield struct.pack("<IBBHIIIiiii", 40, 0, 0, 5, 0, 1, 2, 3, 3, 65_537, 1408) + bytes(4), True  # a term of no length


def one_shot(rng: random.Random) -> Talk:
    """One datagram that is a perfect data frame: of a protocol with a length before its messages, a few in a thousand are."""
    yield _frame_alike(rng, 1, rng.randrange(1 << 25) * 32), True


def repeated(rng: random.Random) -> Talk:
    """A perfect data frame that nobody answers, so that it is sent again and again; or one by each of the many flows of a client."""
    datagram = _frame_alike(rng, 1, rng.randrange(1 << 25) * 32)
    for _ in range(rng.randint(2, 6)):
        yield datagram, True


def numbered(rng: random.Random) -> Talk:
    """Messages with one magic number and a running one where a frame has its offset; every 32nd is a perfect frame."""
    magic, first = rng.randbytes(12), rng.randrange(1 << 20)
    for number in range(40):
        yield _frame_alike(rng, 1, first + number, magic), True


def requested(rng: random.Random) -> Talk:
    """Requests that read as data and answers that read as status messages, with the same magic number in front."""
    magic = rng.randbytes(12)
    for _ in range(4):
        yield _frame_alike(rng, 1, rng.randrange(1 << 25) * 32, magic), True
        yield struct.pack("<IBBH", 64, 0, 0, 3) + magic + struct.pack("<iiq", 64, 128, 0) + rng.randbytes(20), False


def zeroed(rng: random.Random) -> Talk:
    """Messages full of zeros that go on where the last one ended: heartbeats and data of a stream without numbers."""
    at = rng.randrange(1 << 20) * 64
    for _ in range(6):
        yield struct.pack("<IBBHI", 64, 0, 0xC0, 1, at) + bytes(52), True
        yield struct.pack("<IBBHI", 0, 0, 0xC0, 1, at) + bytes(20), True
        at += 64


def _frame_alike(rng: random.Random, kind: int, number: int, magic: bytes | None = None) -> bytes:
    length = rng.choice((32, 64, 96, 1024))
    head = struct.pack("<IBBHI", length, 0, rng.choice((0, 0xC0)), kind, number) + (magic or rng.randbytes(12))
    return head + rng.randbytes(length - len(head))


PROTOCOLS: dict[int, Callable[[random.Random], Talk]] = {
    53: dns,
    3478: stun,
    123: ntp,
    5004: rtp,
    443: quic,
    9000: length_prefixed,
    9001: looks_alike,
    9002: one_shot,
    9003: repeated,
    9004: numbered,
    9005: requested,
    9006: zeroed,
}


def packets(rng: random.Random, count: int) -> list[bytes]:
    """Return so many Ethernet packets of conversations, each from a port of its own, none of which is one of the corpus."""
    out: list[bytes] = []
    while len(out) < count:
        port = rng.choice(list(PROTOCOLS))
        client: Endpoint = (f"192.168.{rng.randrange(4)}.{rng.randint(2, 250)}", rng.randint(49_152, 65_535))
        server: Endpoint = (f"192.168.9.{rng.randint(1, 5)}", port)
        if rng.random() < 0.2:
            client, server = (f"fd01::{rng.randint(2, 999):x}", client[1]), (f"fd01::1:{rng.randint(1, 5)}", port)
        there, back = Link(client, server), Link(server, client)
        for payload, is_client in PROTOCOLS[port](rng):
            out.append((there if is_client else back).header(len(payload)) + payload)
    return out[:count]


def mix(aeron: Path, target: Path, count: int, seed: int) -> list[int]:
    """Write the records of a nanosecond capture with so many others between them; return at which places its own ones stand."""
    rng = random.Random(seed)
    data = aeron.read_bytes()
    own, at = [], 24
    while at < len(data):
        end = at + 16 + struct.unpack_from("<I", data, at + 8)[0]
        own.append(data[at:end])
        at = end
    others = packets(rng, count)
    places = sorted(rng.sample(range(len(own) + count), len(own)))
    mine, foreign, chosen = iter(own), iter(others), set(places)
    time = data[24:32]
    with target.open("wb") as file:
        file.write(data[:24])
        for place in range(len(own) + count):
            if place in chosen:
                record = next(mine)
                time = record[:8]
            else:
                packet = next(foreign)
                record = time + struct.pack("<II", len(packet), len(packet)) + packet
            file.write(record)
    return places
