"""Flows: which endpoints talked.

A flow is a pair of endpoints in both directions; its two directions are links of their own here, because a stream's data goes one way.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import numpy as np

from aerowire.pcap.arrays.blocks import Bytes, Integers
from aerowire.pcap.packets.datagrams import Datagrams

try:
    from aerowire.pcap.arrays.keys import KeyTable
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.arrays.keys_fallback import KeyTable  # type: ignore[assignment]

Endpoint = tuple[str, int]
Link = tuple[Endpoint, Endpoint]


class FlowTable:
    """Numbers directed links and the flows that they belong to.

    Grows with the number of distinct links in a capture.  Invariant: keys, links and flow_of have one entry per link.
    """

    def __init__(self) -> None:
        self._tables: dict[int, KeyTable] = {}  # by the width of keys
        self._of_table: dict[int, Integers] = {}  # link numbers of a table's keys
        self._flows: dict[bytes, int] = {}
        self._keys: list[bytes] = []
        self._links: list[Link] = []
        self._flow_of: list[int] = []
        self._flow_array: Integers = np.empty(0, dtype=np.int64)

    @property
    def link_count(self) -> int:
        return len(self._keys)

    @property
    def flow_of(self) -> Integers:
        """Link number -> flow number."""
        if self._flow_array.size != len(self._flow_of):
            self._flow_array = np.array(self._flow_of, dtype=np.int64)
        return self._flow_array

    def number(self, datagrams: Datagrams) -> Integers:
        """Return each datagram's link number."""
        out = np.empty(datagrams.count, dtype=np.int64)
        if datagrams.keys6.shape[0] == 0:
            out[:] = self._encode(datagrams.keys4)
        else:
            out[~datagrams.is_ip6] = self._encode(datagrams.keys4)
            out[datagrams.is_ip6] = self._encode(datagrams.keys6)
        return out

    def number_keys(self, keys: Sequence[bytes]) -> Integers:
        """Return the link numbers of keys of another table."""
        out = np.empty(len(keys), dtype=np.int64)
        widths = np.array([len(key) for key in keys], dtype=np.int64)
        for width in np.unique(widths).tolist():
            rows = np.flatnonzero(widths == width)
            joined = b"".join(keys[row] for row in rows.tolist())
            out[rows] = self._encode(np.frombuffer(joined, dtype=np.uint8).reshape(-1, width))
        return out

    def _encode(self, keys: Bytes) -> Integers:
        width = keys.shape[1]
        table = self._tables.get(width)
        if table is None:
            table, self._of_table[width] = self._tables.setdefault(width, KeyTable(width)), np.empty(0, dtype=np.int64)
        numbers = table.number(keys)
        known = self._of_table[width]
        if known.size < len(table):
            fresh = [self._add(key) for key in table.keys_from(known.size)]
            known = self._of_table[width] = np.concatenate([known, np.array(fresh, dtype=np.int64)])
        out: Integers = known[numbers]
        return out

    def _add(self, key: bytes) -> int:
        self._keys.append(key)
        source, destination = _endpoints(key)
        self._links.append((_endpoint(source), _endpoint(destination)))
        flow = self._flows.setdefault(b"".join(sorted((source, destination))), len(self._flows))
        self._flow_of.append(flow)
        return len(self._keys) - 1

    def keys_from(self, first: int) -> list[bytes]:
        """Return the keys of the links numbered `first` and up."""
        return self._keys[first:]

    def endpoints(self, link: int) -> Link:
        """Return (source, destination) of a link, each address and port."""
        return self._links[link]


def _endpoints(key: bytes) -> tuple[bytes, bytes]:
    half = (len(key) - 4) // 2
    return key[:half] + key[-4:-2], key[half : 2 * half] + key[-2:]


def _endpoint(data: bytes) -> Endpoint:
    return str(ipaddress.ip_address(data[:-2])), int.from_bytes(data[-2:], "big")
