"""The driver's name resolver at work: its socket, its counters, its bootstrap neighbours, and names for channels.

What is said and when is decided by protocol.name_gossip. Aeron: DriverNameResolver, media.UdpNameResolutionTransport.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError, ConfigurationError, SocketError
from aerowire.base.ports import DatagramBatch
from aerowire.base.socket_address import SocketAddress
from aerowire.codecs.flyweights.cnc import BootstrapNeighborKeyEncoder
from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.counters import CounterType, SystemCounter, format_label
from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver.channels.socket_address import parse_address
from aerowire.ipc.counters import AtomicCounter
from aerowire.protocol.name_cache import ResolverAddress
from aerowire.protocol.name_gossip import GossipIntervals, NameGossip
from aerowire.system.names import NameResolver
from aerowire.system.ports import SocketSpec

if TYPE_CHECKING:
    from aerowire.agents.error_recorder import ErrorRecorder
    from aerowire.base.ports import DatagramPort
    from aerowire.driver.context import Context
    from aerowire.driver.event_log.conductor_events import ConductorEvents
    from aerowire.ipc.counters import CountersManager

# How often the socket is looked at: names change in seconds.
_WORK_INTERVAL_NS = 10_000_000
# Limit of bootstrap neighbours, as in the official drivers: each is looked up and gets gossip.
BOOTSTRAP_NEIGHBORS_MAX = 20
# What is taken in at one time, at most: datagrams, and bytes of them before the last. The shortest entry takes 16 bytes and 6 us.
_RECEIVE_LIMIT = 256
_RECEIVE_BYTES = 16_384

_INTERFACE = OPTIONS["driver_resolver_interface"].property
_BOOTSTRAP = OPTIONS["driver_resolver_bootstrap_neighbor"].property


class DriverNames:
    """Resolves the names of drivers, and hosts that no driver is called by with the resolver below it.

    Invariant: `do_work` and `close` belong to the conductor's thread; `resolve` may be called from any.
    """

    def __init__(
        self,
        context: Context,
        *,
        conductor_events: ConductorEvents,
        counters: CountersManager,
        errors: ErrorRecorder,
        open_socket: Callable[[SocketSpec], DatagramPort],
        below: NameResolver,
        lookups: Executor | None,
        now_ns: int,
    ) -> None:
        """Open the resolver's socket; `below` is the system's resolver, which `lookups` may run for bootstrap neighbours."""
        self._conductor_events = conductor_events
        self._noted_neighbors: set[ResolverAddress] = set()
        self._below = below
        self._lookups = lookups
        self._errors = errors
        self._counters = counters
        self._bootstraps = bootstrap_neighbors(context.driver_resolver_bootstrap_neighbor)
        self._pending: dict[int, Future[SocketAddress]] = {}
        self._work_deadline_ns = now_ns
        self._invalid = AtomicCounter(counters, SystemCounter.INVALID_PACKETS)
        self._short = AtomicCounter(counters, SystemCounter.SHORT_SENDS)
        bind = listen_address(context.driver_resolver_interface, below)
        self._port = open_socket(
            SocketSpec(bind=bind, connect=None, so_sndbuf=context.socket_so_sndbuf, so_rcvbuf=context.socket_so_rcvbuf)
        )
        self._batch = DatagramBatch(1)
        # A port that nothing can wait on is looked at in every cycle: what lies there is for its reader to take.
        self._is_always_ready = self._port.fileno() < 0
        local = self._port.local_address
        self.bound = bind if local is None else SocketAddress(local[0].partition("%")[0], local[1])
        self._gossip = NameGossip(
            context.driver_resolver_name,
            ResolverAddress(self.bound.ip.packed, self.bound.port),
            GossipIntervals(
                neighbor_timeout_ns=context.driver_resolver_neighbor_timeout_ns,
                self_resolution_ns=context.driver_resolver_self_resolution_interval_ns,
                neighbor_resolution_ns=context.driver_resolver_neighbor_resolution_interval_ns,
                bootstrap_resolution_ns=context.driver_resolver_bootstrap_neighbor_resolution_interval_ns,
            ),
            mtu_length=context.mtu_length,
            bootstrap_count=len(self._bootstraps),
            now_ns=now_ns,
        )
        self._neighbors_id = counters.allocate(
            format_label(CounterType.RESOLVER_NEIGHBORS, address=self.bound), CounterType.RESOLVER_NEIGHBORS
        )
        self._entries_id = counters.allocate(
            format_label(CounterType.RESOLVER_CACHE_ENTRIES, driver_name=context.driver_resolver_name), CounterType.RESOLVER_CACHE_ENTRIES
        )
        self._bootstrap_ids = [
            counters.allocate(
                format_label(CounterType.BOOTSTRAP_NEIGHBOR, neighbor=text, address=""),
                CounterType.BOOTSTRAP_NEIGHBOR,
                BootstrapNeighborKeyEncoder.encode(neighbor_index=index),
            )
            for index, text in enumerate(self._bootstraps)
        ]
        self._look_up(range(len(self._bootstraps)))

    def resolve(self, host: str, /) -> str | None:
        """Return the numeric address of a driver's or a host's name, or None. May block, unless a driver has the name."""
        packed = self._gossip.resolve(host)
        return self._below(host) if packed is None else str(ipaddress.ip_address(packed))

    def next_deadline_ns(self) -> int:
        """Return when `do_work` has something to look at."""
        return self._work_deadline_ns

    def do_work(self, now_ns: int) -> int:
        """Take in what has arrived and send what is due, every ten milliseconds; returns how many datagrams that were."""
        if now_ns < self._work_deadline_ns:
            return self._receive(now_ns) if self._is_always_ready else 0
        self._work_deadline_ns = now_ns + _WORK_INTERVAL_NS
        self._take_lookups()
        work = self._receive(now_ns)
        outgoing = self._gossip.poll_datagrams(now_ns)
        for frame, address in outgoing:
            self._send(frame, address)
        self._show()
        self._note_neighbors()
        self._look_up(self._gossip.poll_bootstraps(now_ns))
        return work + len(outgoing)

    def close(self) -> None:
        """Close the socket."""
        self._port.close()

    def _receive(self, now_ns: int) -> int:
        count = length = 0
        while count < _RECEIVE_LIMIT and length < _RECEIVE_BYTES:
            try:
                arrived = self._port.receive_datagrams(1, self._batch)
            except SocketError as error:
                self._errors.record(error, key=("name resolver", "receive", error.actual))
                break
            if not arrived:
                break
            packet, source, _ = arrived[0]
            address = ResolverAddress(b"", 0) if source is None else _resolver_address(*source)
            if not self._gossip.on_frame(packet, address, now_ns):
                self._invalid.increment()
            length += len(packet)
            count += 1
        return count

    def _send(self, frame: bytes, address: ResolverAddress) -> None:
        try:
            if self._port.send_datagrams([(frame, (str(ipaddress.ip_address(address.packed)), address.port))]) == 0:
                self._short.increment()
        except SocketError as error:
            self._errors.record(error, key=("name resolver", "send", error.actual))

    def _show(self) -> None:
        counters, gossip = self._counters, self._gossip
        shown = [(self._neighbors_id, gossip.neighbor_count), (self._entries_id, len(gossip.cache))]
        shown += zip(self._bootstrap_ids, map(int, gossip.bootstraps_reached), strict=True)
        for counter_id, value in shown:
            if counters.value(counter_id) != value:
                counters.set_value(counter_id, value)

    def _note_neighbors(self) -> None:
        neighbors = self._gossip.neighbors if self._conductor_events.has(DriverEventCode.NAME_RESOLUTION_NEIGHBOR_ADDED) else ()
        for code, changed in (
            (DriverEventCode.NAME_RESOLUTION_NEIGHBOR_ADDED, set(neighbors) - self._noted_neighbors),
            (DriverEventCode.NAME_RESOLUTION_NEIGHBOR_REMOVED, self._noted_neighbors - set(neighbors)),
        ):
            for neighbor in changed:
                self._conductor_events.state(code, address=str(ipaddress.ip_address(neighbor.packed)), port=neighbor.port)
        self._noted_neighbors = set(neighbors)

    def _look_up(self, indices: range | list[int]) -> None:
        for index in indices:
            if index in self._pending:
                continue  # the last look-up has not come back yet
            text = self._bootstraps[index]
            if self._lookups is None:
                self._pending[index] = _run(lambda text=text: self._parse(text))  # type: ignore[misc]
            else:
                self._pending[index] = self._lookups.submit(self._parse, text)

    def _parse(self, text: str) -> SocketAddress:
        return parse_address(_BOOTSTRAP, "endpoint", text, self._below)

    def _take_lookups(self) -> None:
        for index in [index for index, future in self._pending.items() if future.done()]:
            future = self._pending.pop(index)
            found: SocketAddress | None = None
            try:
                found = future.result()
            except (AerowireError, OSError) as error:
                self._errors.record(error)
            self._gossip.on_bootstrap_resolved(index, None if found is None else ResolverAddress(found.ip.packed, found.port))
            label = format_label(CounterType.BOOTSTRAP_NEIGHBOR, neighbor=self._bootstraps[index], address=found or "")
            self._counters.set_label(self._bootstrap_ids[index], label)


def listen_address(text: str, resolver: NameResolver) -> SocketAddress:
    """Return what `host[:port][/prefix]` asks to listen on; raises ConfigurationError."""
    address = text.partition("/")[0]
    if not address.rpartition("]")[2].count(":"):
        address += ":0"
    try:
        return parse_address(_INTERFACE, "interface", address, resolver)
    except AerowireError as error:
        raise ConfigurationError(
            "the name resolver's interface is not an address", where=_INTERFACE, expected="host:port", actual=text, hint=str(error)
        ) from None


def _resolver_address(host: str, port: int) -> ResolverAddress:
    return ResolverAddress(ipaddress.ip_address(host.partition("%")[0]).packed, port)


def _run(call: Callable[[], SocketAddress]) -> Future[SocketAddress]:
    future: Future[SocketAddress] = Future()
    try:
        future.set_result(call())
    except (AerowireError, OSError) as error:
        future.set_exception(error)
    return future


def bootstrap_neighbors(text: str) -> list[str]:
    """Return the neighbours of a list separated by commas. As in the official driver nothing is trimmed but the empty end."""
    neighbors = text.split(",")
    while neighbors and not neighbors[-1]:
        neighbors.pop()
    return neighbors
