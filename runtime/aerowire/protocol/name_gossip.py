"""How drivers tell each other their names: announcing the own one, passing on others, forgetting who is silent.

A machine without socket and clock: frames and times in, datagrams out. Aeron: DriverNameResolver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.transport import (
    RESOLUTION_NAME_LENGTH_MAX,
    FrameType,
    ResFlags,
    ResolutionDecoder,
    ResolutionEncoder,
    ResolutionEntryDecoder,
    ResolutionEntryEncoder,
    ResType,
)
from aerowire.protocol.frames import is_valid_frame
from aerowire.protocol.name_cache import NameCache, ResolverAddress

_NS_PER_MS = 1_000_000
_AGE_MS_MAX = (1 << 31) - 1
# Every entry that arrives names a neighbour, to whom this driver then talks every second: a bound for what a stranger can make it send.
NEIGHBORS_MAX = 1_024
# What is passed on goes to each neighbour, names times neighbours in all: so many datagrams at a time, and the rest at the next polls.
_GOSSIP_PER_POLL = 16
_ENTRY_ALIGNMENT = ResolutionEntryDecoder.ALIGNMENT

Outgoing = tuple[bytes, ResolverAddress]


@dataclass(frozen=True, slots=True, kw_only=True)
class GossipIntervals:
    """Nanoseconds between the things that a resolver does, and after which silence ends."""

    neighbor_timeout_ns: int
    self_resolution_ns: int
    neighbor_resolution_ns: int
    bootstrap_resolution_ns: int


@dataclass(slots=True)
class _Entry:
    """One entry of a RES frame as it arrived."""

    name: bytes
    address: ResolverAddress
    age_ms: int
    is_self: bool


class NameGossip:
    """One driver's knowledge of names.

    Invariant: a neighbour that is silent for the timeout is neither sent to nor counted; a name that nobody repeats is not found.
    """

    def __init__(
        self, name: str, local: ResolverAddress, intervals: GossipIntervals, *, mtu_length: int, bootstrap_count: int, now_ns: int
    ) -> None:
        """`local` is where this driver's resolver listens; `bootstrap_count` neighbours become known by `on_bootstrap_resolved`."""
        self._name = name.encode("ascii", "replace")
        self._local = local
        self._intervals = intervals
        self._mtu_length = mtu_length
        self._neighbors: dict[ResolverAddress, int] = {}
        self._bootstraps: list[ResolverAddress | None] = [None] * bootstrap_count
        self._reached = [False] * bootstrap_count
        # The first announcement goes out as soon as there is somebody to hear it.
        self._self_deadline_ns = now_ns
        self._neighbor_deadline_ns = now_ns + intervals.neighbor_resolution_ns
        self._bootstrap_deadline_ns = now_ns + intervals.bootstrap_resolution_ns
        self._now_ns = now_ns
        # What is left to be passed on of the round under way; the next one starts when it has ended.
        self._round: Iterator[Outgoing] = iter(())
        self.cache = NameCache(intervals.neighbor_timeout_ns)

    @property
    def neighbor_count(self) -> int:
        return len(self._neighbors)

    @property
    def neighbors(self) -> Sequence[ResolverAddress]:
        return tuple(self._neighbors)

    @property
    def bootstraps_reached(self) -> Sequence[bool]:
        """Whether each bootstrap neighbour was among the neighbours at the last announcement."""
        return tuple(self._reached)

    def resolve(self, name: str) -> bytes | None:
        """Return the packed address of a driver's name, this one's own included, or None. Any thread."""
        if not name.isascii():
            return None
        key = name.encode("ascii")
        # A channel names no family: the official driver looks for IPv4, and where there is none we look further.
        for res_type in (ResType.NAME_TO_IP4_MD, ResType.NAME_TO_IP6_MD):
            address = self.cache.find(key, res_type)
            if address is not None:
                return address.packed
        return self._local.packed if key == self._name else None

    def on_frame(self, packet: bytes, source: ResolverAddress, now_ns: int) -> bool:
        """Take in what a datagram says, up to its first bad entry; returns whether all of it was good."""
        if not is_valid_frame(packet):
            return False
        if ResolutionDecoder(packet).type != FrameType.RES:
            return True
        for entry in _entries(packet):
            if entry is None:
                return False
            self._on_entry(entry, source, now_ns)
        return True

    def on_bootstrap_resolved(self, index: int, address: ResolverAddress | None) -> None:
        """The look-up of bootstrap neighbour `index` has ended; None when nobody knows it."""
        self._bootstraps[index] = address

    def poll_bootstraps(self, now_ns: int) -> list[int]:
        """Return the bootstrap neighbours to look up again now: those that are not heard."""
        if not self._bootstraps or self._bootstrap_deadline_ns > now_ns:
            return []
        self._bootstrap_deadline_ns = now_ns + self._intervals.bootstrap_resolution_ns
        return [index for index, address in enumerate(self._bootstraps) if address not in self._neighbors]

    def poll_datagrams(self, now_ns: int) -> list[Outgoing]:
        """Forget silent neighbours; return the frames to send now, each with its address: announcements that are due, and some names."""
        self._now_ns = now_ns
        self.cache.expire(now_ns)
        timeout_ns = self._intervals.neighbor_timeout_ns
        for address in [address for address, active_ns in self._neighbors.items() if active_ns + timeout_ns <= now_ns]:
            del self._neighbors[address]
        outgoing: list[Outgoing] = []
        if self._self_deadline_ns <= now_ns and (self._bootstraps or self._neighbors):
            self._self_deadline_ns = now_ns + self._intervals.self_resolution_ns
            outgoing += self._announcement()
        passed_on = list(islice(self._round, _GOSSIP_PER_POLL))
        if not passed_on and self._neighbor_deadline_ns <= now_ns:
            self._neighbor_deadline_ns = now_ns + self._intervals.neighbor_resolution_ns
            self._round = self._pass_on()
            passed_on = list(islice(self._round, _GOSSIP_PER_POLL))
        return outgoing + passed_on

    def _on_entry(self, entry: _Entry, source: ResolverAddress, now_ns: int) -> None:
        address = entry.address
        if entry.is_self and address.is_any:
            if len(source.packed) != len(address.packed):
                return  # a wildcard of a family that the datagram did not come by is nobody's address
            address = ResolverAddress(source.packed, address.port)
        # Name and port say that it is this driver's own; which of its addresses others see does not matter.
        if address.port == self._local.port and entry.name == self._name:
            return
        # An age below 0 would keep a name beyond its time.
        last_activity_ns = now_ns - max(entry.age_ms, 0) * _NS_PER_MS
        self.cache.put(entry.name, address, last_activity_ns)
        is_known = address in self._neighbors
        if (entry.is_self and is_known) or (not is_known and len(self._neighbors) < NEIGHBORS_MAX):
            self._neighbors[address] = last_activity_ns

    def _announcement(self) -> Iterator[Outgoing]:
        entry = ResolutionEntryEncoder.encode(
            res_type=self._local.res_type,
            res_flags=ResFlags.SELF,
            udp_port=self._local.port,
            age_ms=0,
            address=self._local.packed,
            name=self._name,
        )
        frame = ResolutionEncoder.encode(entries=[entry])
        self._reached = [address in self._neighbors for address in self._bootstraps]
        for address in self._bootstraps:
            if address is not None:
                yield frame, address
        for neighbor in self._neighbors:
            if neighbor not in self._bootstraps:
                yield frame, neighbor

    def _pass_on(self) -> Iterator[Outgoing]:
        """Yield a round: each frame of names to each neighbour that there is when its turn comes."""
        for frame in self._frames():
            neighbors = tuple(self._neighbors)
            if not neighbors:
                return
            yield from ((frame, address) for address in neighbors if address in self._neighbors)

    def _frames(self) -> Iterator[bytes]:
        entries: list[bytes] = []
        length = ResolutionEncoder.ENCODED_LENGTH
        for entry in self._cached():
            entry_length = align(len(entry), _ENTRY_ALIGNMENT)
            if entries and length + entry_length > self._mtu_length:
                yield ResolutionEncoder.encode(entries=entries)
                entries, length = [], ResolutionEncoder.ENCODED_LENGTH
            entries.append(entry)
            length += entry_length
        if entries:
            yield ResolutionEncoder.encode(entries=entries)

    def _cached(self) -> Iterator[bytes]:
        for entry in tuple(self.cache.entries):
            if entry.deadline_ns < self._now_ns:
                continue  # forgotten since the round began
            yield ResolutionEntryEncoder.encode(
                res_type=entry.address.res_type,
                res_flags=0,
                udp_port=entry.address.port,
                age_ms=min((self._now_ns - entry.last_activity_ns) // _NS_PER_MS, _AGE_MS_MAX),
                address=entry.address.packed,
                name=entry.name,
            )


def _entries(packet: bytes) -> Iterator[_Entry | None]:
    """Yield the entries of a RES frame; None, and no more, for one that is bad. The datagram's length counts, not the frame's."""
    at = ResolutionDecoder.ENCODED_LENGTH
    while at < len(packet):
        entry, length = _entry(packet, at)
        yield entry
        if entry is None:
            return
        at += align(length, _ENTRY_ALIGNMENT)


def _entry(packet: bytes, at: int) -> tuple[_Entry | None, int]:
    if len(packet) - at < ResolutionEntryDecoder.ENCODED_LENGTH:
        return None, 0
    try:
        decoder = ResolutionEntryDecoder(packet, at, len(packet) - at)
        packed = bytes(decoder.address)
        start, end = ResolutionEntryDecoder.name.extent(decoder)
    except ValueError:
        return None, 0
    if not 0 < end - start <= RESOLUTION_NAME_LENGTH_MAX:
        return None, 0
    address = ResolverAddress(packed, decoder.udp_port)
    is_self = decoder.res_flags == ResFlags.SELF
    return _Entry(packet[at + start : at + end], address, decoder.age_ms, is_self), end
