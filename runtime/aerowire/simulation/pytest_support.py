"""The pytest plugin's part that knows worlds, loaded when a test asks for one: reports of failures, and an end of all clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import FrameHeaderDecoder, FrameType
from aerowire.simulation.packet_trace import PacketLog

if TYPE_CHECKING:
    from aerowire.simulation.host import SimulatedHost
    from aerowire.simulation.packet_trace import PacketRecord
    from aerowire.simulation.world import SimulatedWorld

PACKETS_KEPT = 10
# A driver frees what an ended client had within the sum of its timeouts. A slow host needs a little longer.
END_FACTOR = 2
_TYPE = slice(FrameHeaderDecoder.TYPE_OFFSET, FrameHeaderDecoder.TYPE_OFFSET + 2)  # in the header of every frame
_KINDS = {int(kind): kind.name for kind in FrameType}


class WorldRecord:
    """Follows a world from the start of a test, and describes it."""

    def __init__(self, world: SimulatedWorld, seed: int) -> None:
        self.seed = seed
        self._world = world
        self._begun_ns = world.clock.now_ns()
        self._packets = PacketLog(PACKETS_KEPT)
        world.network.add_trace(self._packets)

    def lines(self) -> Iterator[str]:
        """Yield the seed and the time, then of each host its last events, its processes and errors, and the last packets of the network."""
        world = self._world
        yield f"seed {self.seed}, after {world.events.elapsed_ns / 1e9:.6f} simulated s, step {world.steps}"
        hosts = {host.address: host for host in world.hosts}
        events = world.events.by_host
        for address in dict.fromkeys([*hosts, *events]):
            yield f"{address}: {_state(hosts[address])}" if address in hosts else f"{address}:"
            yield from (f"  {line}" for line in events.get(address, ()))
        counts = world.network.counts
        lost = ", ".join(f"{number} {cause.name.lower()}" for cause, number in counts.lost.items() if number) or "none"
        yield f"network: {counts.sent} packets sent, lost: {lost}"
        yield from (f"  cut: {partition}" for partition in world.network.partitions)
        if packets := self._packets.records():
            yield "last packets:"
            yield from (f"  {self._line(packet)}" for packet in packets)

    def _line(self, packet: PacketRecord) -> str:
        source, target = (f"{host}:{port}" for host, port in (packet.source, packet.target))
        kind = _KINDS.get(int.from_bytes(packet.payload[_TYPE], "little"), "unknown")
        at_s = (packet.time_ns - self._begun_ns) / 1e9
        return f"{at_s:.6f} s: {source} -> {target}: {kind}, {packet.length} bytes, {packet.fate.name.lower()}"


def end_clients(world: SimulatedWorld) -> list[str]:
    """End all that runs beside the drivers, and return a line for each driver that keeps counters of it for too long."""
    drivers = [host for host in world.hosts if host.has_driver and not host.driver.is_closed]
    for process in (process for host in world.hosts for process in host.processes):
        process.undisturb()
    for host in world.hosts:
        for client in host.clients:
            client.close()
        for process in host.processes:
            if host not in drivers or process is not host.driver_process:
                process.end()
    limit_ns = END_FACTOR * max(map(_timeouts_ns, drivers), default=0)
    world.run(limit_ns, until=lambda: not any(host.counters_left() for host in drivers))
    return [f"{host.address}: {', '.join(left)}" for host in drivers if (left := host.counters_left())]


def _timeouts_ns(host: SimulatedHost) -> int:
    context = host.driver.context
    return context.client_liveness_timeout_ns + context.image_liveness_timeout_ns + context.publication_linger_timeout_ns


def _state(host: SimulatedHost) -> str:
    if not host.has_power:
        return "no power"
    processes = ", ".join(f"{process.name} ({process.state.value})" for process in host.processes) or "no processes"
    errors = [f"{type(error).__name__}: {error}" for client in host.clients for error in client.errors]
    return "; ".join([processes, *(f"error of a client: {error}" for error in errors)])
