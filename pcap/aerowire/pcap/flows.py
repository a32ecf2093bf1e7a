"""Flows: which endpoints talked, and which of those pairs speak Aeron.

A flow is a pair of endpoints in both directions; its two directions are links of their own here, because a stream's data goes one way.
"""

from __future__ import annotations

import ipaddress

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap.blocks import Bytes, Integers, Mask
from aerowire.pcap.links import Datagrams

Endpoint = tuple[str, int]
Link = tuple[Endpoint, Endpoint]


class FlowTable:
    """Numbers directed links and the flows that they belong to; keeps each flow's verdict.

    Grows with the number of distinct links in a capture.  Invariant: links, flow_of and the dictionary have one entry per link.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._flows: dict[bytes, int] = {}
        self._keys: list[bytes] = []
        self._flow_of: list[int] = []
        self._flow_array: Integers = np.empty(0, dtype=np.int64)
        self._broken: Mask = np.zeros(64, dtype=bool)
        self._proven: Mask = np.zeros(64, dtype=bool)

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

    def _encode(self, keys: Bytes) -> Integers:
        count, width = keys.shape
        if count == 0:
            return np.empty(0, dtype=np.int64)
        packed = np.ascontiguousarray(keys)
        array = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), count, [None, pa.py_buffer(packed)])
        encoded = array.dictionary_encode()
        numbers = np.fromiter((self._add(key) for key in encoded.dictionary.to_pylist()), dtype=np.int64)
        out: Integers = numbers[encoded.indices.to_numpy()]
        return out

    def _add(self, key: bytes) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._keys)
            self._keys.append(key)
            ends = _endpoints(key)
            flow = self._flows.setdefault(b"".join(sorted(ends)), len(self._flows))
            self._flow_of.append(flow)
            if flow >= self._broken.size:
                self._broken = np.concatenate([self._broken, np.zeros_like(self._broken)])
                self._proven = np.concatenate([self._proven, np.zeros_like(self._proven)])
        return number

    def judge(self, links: Integers, broken: Mask, proven: Mask) -> None:
        """Record which of some datagrams broke the frame rules and which held a frame that no other protocol would send."""
        flows = self.flow_of[links]
        self._broken[flows[broken]] = True
        self._proven[flows[proven]] = True

    def aeron_links(self) -> Mask:
        """Return, per link number, whether its flow counts as Aeron: at least one proof and not one breach."""
        flows = self.flow_of
        verdict: Mask = self._proven[flows] & ~self._broken[flows]
        return verdict

    def broken_links(self) -> Mask:
        """Return, per link number, whether its flow has broken the rules already."""
        verdict: Mask = self._broken[self.flow_of]
        return verdict

    def keys_from(self, first: int) -> list[bytes]:
        """Return the keys of the links numbered `first` and up."""
        return self._keys[first:]

    def endpoints(self, link: int) -> Link:
        """Return (source, destination) of a link, each address and port."""
        source, destination = _endpoints(self._keys[link])
        return _endpoint(source), _endpoint(destination)


def _endpoints(key: bytes) -> tuple[bytes, bytes]:
    half = (len(key) - 4) // 2
    return key[:half] + key[-4:-2], key[half : 2 * half] + key[-2:]


def _endpoint(data: bytes) -> Endpoint:
    return str(ipaddress.ip_address(data[:-2])), int.from_bytes(data[-2:], "big")
