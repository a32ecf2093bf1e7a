"""What only a whole capture tells, and of which links it tells it.

A pass finds it; an index keeps it, for whatever ports a query asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aerowire.pcap.frames.retransmissions import OWNER, Asked, together
from aerowire.pcap.frames.terms import Terms


@dataclass(frozen=True, slots=True)
class Facts:
    """The links whose flows count as Aeron, by their keys; and of the links that are read, the terms of streams and what NAKs asked for.

    asked: None where that is not known.
    """

    keys: frozenset[bytes]
    terms: Terms
    asked: Asked | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """The same, each link for itself. Invariant: the owners in `asked` are indexes of `links`, each of which is the owner of something."""

    counted: frozenset[bytes]
    terms: Mapping[bytes, Terms]
    links: tuple[bytes, ...] = ()
    asked: Asked | None = field(default_factory=lambda: Asked(np.empty((7, 0), dtype=np.int64)))

    @classmethod
    def of(cls, counted: frozenset[bytes], terms: Mapping[bytes, Terms], keys: Sequence[bytes], asked: Asked | None) -> Findings:
        """Return the same for an `asked` whose owners are indexes of `keys`, in any order."""
        if asked is None:
            return cls(counted, terms, (), None)
        present = sorted(np.flatnonzero(np.bincount(asked.ranges[OWNER], minlength=len(keys))).tolist(), key=keys.__getitem__)
        numbers = np.zeros(len(keys), dtype=np.int64)
        numbers[present] = np.arange(len(present))
        return cls(counted, terms, tuple(keys[number] for number in present), together([(asked, numbers)]))

    def facts(self, ports: frozenset[int] | None = None) -> Facts:
        """Return what counts for a query: of links from or to some ports, else of those that count as Aeron."""
        is_read = _reader(self.counted, ports)
        terms = Terms()
        for key, said in sorted(self.terms.items()):
            if is_read(key):
                terms.add(said)
        owners = np.array([is_read(key) for key in self.links], dtype=bool)
        return Facts(self.counted, terms, None if self.asked is None else self.asked.chosen(owners))

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "links": sorted(key.hex() for key in self.counted),
            "terms": {key.hex(): said.to_json() for key, said in sorted(self.terms.items())},
            "asked": None if self.asked is None else {"links": [key.hex() for key in self.links], "ranges": self.asked.to_json()},
        }

    @classmethod
    def from_json(cls, values: Any) -> Findings:
        """Return what `to_json` gave.  Raises ValueError, KeyError or TypeError for anything else."""
        terms = {bytes.fromhex(key): Terms.from_json(said) for key, said in values["terms"].items()}
        counted, asked = frozenset(map(bytes.fromhex, values["links"])), values["asked"]
        if asked is None:
            return cls(counted, terms, (), None)
        links = tuple(map(bytes.fromhex, asked["links"]))
        return cls(counted, terms, links, Asked.from_json(asked["ranges"], len(links)))


def _reader(counted: frozenset[bytes], ports: frozenset[int] | None) -> Callable[[bytes], bool]:
    """Return what says whether a link, by its key, is read."""
    if ports is None:
        return counted.__contains__
    wanted = {port.to_bytes(2, "big") for port in ports}
    return lambda key: key[-4:-2] in wanted or key[-2:] in wanted
