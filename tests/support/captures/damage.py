"""Captures as lists of records, written in every format, and everything that can go wrong with their bytes."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from pathlib import Path

START_S = 1_700_000_000
KINDS = ("cut", "flip", "junk", "length", "lost")


@dataclass
class Written:
    """A capture in memory; `bounds` are the first byte of each record and the end of the last one."""

    data: bytearray
    bounds: list[int]
    is_ng: bool
    order: str
    overhead: int  # bytes of a record that are none of its packet's, padding not counted


@dataclass
class Damaged:
    """A damaged capture: which records are no longer what they were, or stand beside such bytes."""

    data: bytes
    touched: set[int] = field(default_factory=set)
    beside: set[int] = field(default_factory=set)
    what: list[str] = field(default_factory=list)


def packets_of(path: Path) -> list[bytes]:
    """Return the packets of a little-endian classic capture."""
    data, at, out = path.read_bytes(), 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        out.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return out


def time_ns(index: int) -> int:
    """Return the time that a record is written with: its name, too."""
    return START_S * 1_000_000_000 + index * 1_000_000 + 7_000


def classic(packets: list[bytes], order: str) -> Written:
    """Return a classic capture with microseconds."""
    out = bytearray(struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1))
    bounds = []
    for index, packet in enumerate(packets):
        bounds.append(len(out))
        seconds, rest = divmod(time_ns(index), 1_000_000_000)
        out += struct.pack(order + "IIII", seconds, rest // 1000, len(packet), len(packet)) + packet
    return Written(out, [*bounds, len(out)], False, order, 16)


def ng(packets: list[bytes], order: str) -> Written:
    """Return a pcapng capture of one section and one interface, with microseconds."""
    out = bytearray(struct.pack(order + "IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28))
    out += struct.pack(order + "IIHHII", 1, 20, 1, 0, 0, 20)
    bounds = []
    for index, packet in enumerate(packets):
        bounds.append(len(out))
        time, length = time_ns(index) // 1000, 32 + len(packet) + -len(packet) % 4
        head = struct.pack(order + "IIIIIII", 6, length, 0, time >> 32, time & 0xFFFFFFFF, len(packet), len(packet))
        out += head + packet + bytes(-len(packet) % 4) + struct.pack(order + "I", length)
    return Written(out, [*bounds, len(out)], True, order, 32)


def damage(rng: random.Random, whole: Written) -> Damaged:
    """Damage a capture behind its file header in one to four places; places are counted in the whole capture, last ones first."""
    out = Damaged(bytes(whole.data))
    for place in sorted((rng.randrange(whole.bounds[0], len(whole.data)) for _ in range(rng.choice((1, 1, 2, 3, 4)))), reverse=True):
        kind = rng.choice(KINDS)
        out.what.append(f"{kind} at {place}")
        {"cut": _cut, "flip": _flip, "junk": _junk, "length": _length, "lost": _lost}[kind](rng, whole, out, place)
    last = len(whole.bounds) - 2
    out.beside |= {other for index in out.touched for other in (index - 1, index + 1) if 0 <= other <= last}
    return out


def _record(whole: Written, place: int) -> int:
    """Return the record that holds a byte."""
    return next(index for index in range(len(whole.bounds) - 1) if whole.bounds[index + 1] > place)


def _cut(rng: random.Random, whole: Written, out: Damaged, place: int) -> None:
    del rng
    out.data = out.data[:place]
    out.touched |= set(range(_record(whole, place), len(whole.bounds) - 1))


def _flip(rng: random.Random, whole: Written, out: Damaged, place: int) -> None:
    record = _record(whole, place)
    if rng.random() < 0.7:  # most bytes are payload: take one that matters more often than not
        place = whole.bounds[record] + rng.randrange(whole.overhead)
    if place >= len(out.data):
        return
    data = bytearray(out.data)
    data[place] ^= 1 << rng.randrange(8)
    out.data = bytes(data)
    out.touched.add(_record(whole, place))


def _junk(rng: random.Random, whole: Written, out: Damaged, place: int) -> None:
    record = _record(whole, place)
    start = whole.bounds[record]
    if start > len(out.data):
        return
    count = rng.choice((1, 4, 16, 64, rng.randrange(1, 5000)))
    part = rng.randrange(whole.bounds[0], max(whole.bounds[0] + 1, len(whole.data) - count))
    junk = rng.choice((bytes(count), rng.randbytes(count), b"\xff" * count, bytes(whole.data[part : part + count])))
    out.data = out.data[:start] + junk + out.data[start:]
    out.beside |= {record, max(0, record - 1)}
    out.what.append(f"{len(junk)} bytes of junk: {junk[:16].hex()}")


def _length(rng: random.Random, whole: Written, out: Damaged, place: int) -> None:
    record = _record(whole, place)
    start = whole.bounds[record]
    end = whole.bounds[record + 1]
    at = rng.choice((start + 4, end - 4, start + 20)) if whole.is_ng else rng.choice((start + 8, start + 12))
    if end > len(out.data):
        return
    value = rng.choice(
        (0, 1, 16, 32, 64, 1000, 5000, 65_536, 200_000, 262_144, 2**31, 2**32 - 1, rng.randrange(3000), rng.randrange(2**32))
    )
    out.data = out.data[:at] + struct.pack(whole.order + "I", value) + out.data[at + 4 :]
    out.touched.add(record)
    out.what.append(f"{value} at {at}")


def _lost(rng: random.Random, whole: Written, out: Damaged, place: int) -> None:
    count = rng.choice((1, 2, 8, 100, 3000))
    if place + count > len(whole.data) or place >= len(out.data):
        return
    later = [index for index in out.touched | out.beside if whole.bounds[index] < place + count]
    out.data = out.data[:place] + out.data[place + count :]
    out.touched |= set(range(_record(whole, place), _record(whole, place + count - 1) + 1)) | set(later)
