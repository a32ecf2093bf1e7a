"""Names of drivers and where they are: what other drivers said, for as long as they keep saying it.

Knows no socket, no clock and no driver options. Aeron: DriverNameResolverCache.
"""

from __future__ import annotations

from collections.abc import ValuesView
from dataclasses import dataclass
from typing import NamedTuple

from aerowire.codecs.flyweights.transport import ADDRESS_LENGTH_IP4, ResType

# Names that are kept at most: a host that makes names up fills this table and no more. Each costs some 700 bytes.
NAMES_MAX = 16_384


class ResolverAddress(NamedTuple):
    """Where a driver's resolver listens: address bytes in network order, 4 or 16 of them, and its port."""

    packed: bytes
    port: int

    @property
    def res_type(self) -> ResType:
        return ResType.NAME_TO_IP4_MD if len(self.packed) == ADDRESS_LENGTH_IP4 else ResType.NAME_TO_IP6_MD

    @property
    def is_any(self) -> bool:
        """Whether this is the wildcard address, which says nothing about where to send."""
        return not any(self.packed)


@dataclass(slots=True)
class CacheEntry:
    """One name's address of one kind. Invariant: `deadline_ns` is the cache's timeout after `last_activity_ns`."""

    name: bytes
    address: ResolverAddress
    last_activity_ns: int
    deadline_ns: int


class NameCache:
    """Entries by name and kind of address, in the order in which they came."""

    __slots__ = ("_entries", "_timeout_ns")

    def __init__(self, timeout_ns: int) -> None:
        """`timeout_ns`: how long after its last activity a name is forgotten."""
        self._timeout_ns = timeout_ns
        self._entries: dict[tuple[ResType, bytes], CacheEntry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> ValuesView[CacheEntry]:
        return self._entries.values()

    def find(self, name: bytes, res_type: ResType) -> ResolverAddress | None:
        """Return the address of a name, or None. Any thread: it reads one dictionary once."""
        entry = self._entries.get((res_type, name))
        return None if entry is None else entry.address

    def put(self, name: bytes, address: ResolverAddress, last_activity_ns: int) -> bool:
        """Add or refresh a name; returns False when it is new and there is no room."""
        key = address.res_type, name
        entry = self._entries.get(key)
        if entry is None:
            if len(self._entries) >= NAMES_MAX:
                return False
            self._entries[key] = CacheEntry(name, address, last_activity_ns, last_activity_ns + self._timeout_ns)
            return True
        entry.last_activity_ns = last_activity_ns
        entry.deadline_ns = last_activity_ns + self._timeout_ns
        entry.address = address
        return True

    def expire(self, now_ns: int) -> int:
        """Forget names whose deadline has passed; returns how many."""
        over = [key for key, entry in self._entries.items() if entry.deadline_ns < now_ns]
        for key in over:
            del self._entries[key]
        return len(over)
