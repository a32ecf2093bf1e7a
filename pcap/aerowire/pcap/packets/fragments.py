"""IP fragments put together again: a datagram larger than its link's packets is in a capture as several records.

It knows no IP header: which datagram a fragment is of, where it stands in it and whether more follow are arrays here.  A datagram is of
the record that completed it, and its bytes are appended to that record's buffer.

Whatever part of a file is read, the same datagrams come out: fragments count together only within SPAN bytes of the capture, and a
reader that begins in the middle of a file first looks at the fragments of as many bytes before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap.arrays.blocks import Bytes, Integers, Mask

# Some milliseconds of the fastest links; fragments of one datagram leave one after the other.
SPAN = 8 << 20
DATAGRAM_LENGTH_MAX = 65535 + 40  # of an IP packet's body, with what a header may leave out of its length
NEVER = -1  # length of a datagram that cannot be completed


@dataclass(slots=True)
class Fragments:
    """The fragments of one block and one IP version, in file order.

    Invariant: starts <= captured_ends <= starts + lengths; each key is the addresses, and behind them the datagram's id.
    """

    rows: Integers
    keys: Bytes  # (n, width)
    starts: Integers
    captured_ends: Integers
    lengths: Integers  # as sent
    offsets: Integers  # in the datagram
    more: Mask  # not the last one of its datagram


@dataclass(slots=True)
class Datagrams:
    """IP bodies that were put together: the row that completed each, its bytes, its whole length and its key."""

    rows: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    fragment_count: int = 0

    def add(self, row: int, body: bytes, length: int, key: bytes, count: int) -> None:
        self.rows.append(row)
        self.bodies.append(body)
        self.lengths.append(length)
        self.keys.append(key)
        self.fragment_count += count


class _Pending:
    """A datagram of which something is missing. Invariant: parts do not overlap."""

    __slots__ = ("first", "length", "parts", "received")

    def __init__(self, first: int) -> None:
        self.first = first  # position in the capture of the first fragment that came
        self.parts: dict[int, tuple[int, bytes]] = {}  # offset -> length as sent, bytes that were captured
        self.received = 0
        self.length: int | None = None  # known with the last fragment

    def add(self, offset: int, length: int, data: bytes, *, more: bool) -> bool:
        """Take a fragment; return whether the datagram is whole now.  One that is there already changes nothing."""
        if offset in self.parts or offset + length > DATAGRAM_LENGTH_MAX:
            return False
        self.parts[offset] = (length, data)
        self.received += length
        if not more:  # two that claim to be the last are of two datagrams with one id: nobody can tell them apart
            self.length = offset + length if self.length is None else NEVER
        if self.received != self.length:
            return False
        if not self._is_tiled():
            self.length = NEVER  # looked at once: what still comes has no length, or is too much
        return self.length != NEVER

    def _is_tiled(self) -> bool:
        reached = 0
        for offset in sorted(self.parts):
            if offset != reached:
                return False
            reached += self.parts[offset][0]
        return True

    def body(self) -> bytes:
        """Return the bytes up to the first that were not captured."""
        out = bytearray()
        for offset in sorted(self.parts):
            length, data = self.parts[offset]
            out += data
            if len(data) < length:
                break
        return bytes(out)


class Reassembler:
    """Puts fragments together over the blocks of a capture; holds those of at most SPAN bytes of it."""

    def __init__(self) -> None:
        self._pending: dict[bytes, _Pending] = {}

    def add(self, buffer: Bytes, fragments: Fragments, positions: Integers) -> Datagrams:
        """Take a block's fragments; return the datagrams that they complete.  `positions` is each row's place in the capture."""
        found = Datagrams()
        if not fragments.rows.size:
            return found
        numbers, keys = _numbered(fragments.keys)
        at = positions[fragments.rows]
        whole = self._take_whole(buffer, fragments, numbers, keys, at, found)
        rest = np.flatnonzero(~whole)
        for index in rest.tolist():
            self._take_one(buffer, fragments, index, keys[numbers[index]], int(at[index]), found)
        self._forget(int(at[-1]))
        return found

    def _take_whole(
        self, buffer: Bytes, fragments: Fragments, numbers: Integers, keys: list[bytes], at: Integers, found: Datagrams
    ) -> Mask:
        """Take the datagrams all of whose fragments stand in this block, each once and captured whole; return which fragments those are."""
        order = np.lexsort((fragments.offsets, numbers))
        number, offset, length = numbers[order], fragments.offsets[order], fragments.lengths[order]
        begins = np.concatenate([[True], number[1:] != number[:-1]])
        ends = np.concatenate([begins[1:], [True]])
        reached = np.concatenate([[0], (offset + length)[:-1]])
        good = np.where(begins, offset == 0, offset == reached) & (fragments.more[order] == ~ends)
        good &= fragments.captured_ends[order] - fragments.starts[order] == length
        firsts = np.flatnonzero(begins)
        is_good = np.logical_and.reduceat(good, firsts)
        is_good &= np.maximum.reduceat(at[order], firsts) - np.minimum.reduceat(at[order], firsts) <= SPAN
        is_good &= np.array([key not in self._pending for key in keys])[number[firsts]]
        lengths = np.add.reduceat(length, firsts)
        is_good &= lengths <= DATAGRAM_LENGTH_MAX
        completing = np.maximum.reduceat(fragments.rows[order], firsts)
        lasts = np.append(firsts[1:], order.size)
        data = memoryview(buffer.data)
        starts, stops = fragments.starts[order].tolist(), fragments.captured_ends[order].tolist()
        for group in np.flatnonzero(is_good).tolist():
            first, last = int(firsts[group]), int(lasts[group])
            body = b"".join([data[starts[index] : stops[index]] for index in range(first, last)])
            found.add(int(completing[group]), body, int(lengths[group]), keys[number[first]], last - first)
        taken = np.zeros(order.size, dtype=bool)
        taken[order] = np.repeat(is_good, lasts - firsts)
        return taken

    def _take_one(self, buffer: Bytes, fragments: Fragments, index: int, key: bytes, at: int, found: Datagrams) -> None:
        pending = self._pending.get(key)
        if pending is None or at - pending.first > SPAN:
            pending = self._pending[key] = _Pending(at)
        data = buffer[fragments.starts[index] : fragments.captured_ends[index]].tobytes()
        if pending.add(int(fragments.offsets[index]), int(fragments.lengths[index]), data, more=bool(fragments.more[index])):
            del self._pending[key]
            assert pending.length is not None
            found.add(int(fragments.rows[index]), pending.body(), pending.length, key, len(pending.parts))

    def _forget(self, at: int) -> None:
        """Drop what is too old to be completed, which stands first."""
        for key in [key for key, pending in self._pending.items() if at - pending.first > SPAN]:
            del self._pending[key]


def _numbered(keys: Bytes) -> tuple[Integers, list[bytes]]:
    """Return each key's number, and the keys by number."""
    count, width = keys.shape
    array = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), count, [None, pa.py_buffer(np.ascontiguousarray(keys))])
    encoded = array.dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()
