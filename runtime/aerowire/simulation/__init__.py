"""The world in one thread: virtual time, a network with faults, hosts that fail, for real drivers and clients to run in.

    from aerowire.simulation import SECOND, SimulatedWorld

    with SimulatedWorld(seed=7) as world:
        server, asker = world.add_host("10.0.0.1"), world.add_host("10.0.0.2")
        world.network.set_faults(loss=0.1)
        client = asker.connect()
        publication = client.complete(client.aeron.async_add_publication("aeron:udp?endpoint=10.0.0.1:40123", 10))
        world.run(10 * SECOND, until=lambda: publication.is_connected)

Everything follows from the seed; the same seed gives the same trace hash. Names are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.simulation.archives import SimulatedArchive
    from aerowire.simulation.clients import SimulatedClient
    from aerowire.simulation.host import SimulatedHost
    from aerowire.simulation.host_clock import HostClock
    from aerowire.simulation.link_faults import LinkFaults
    from aerowire.simulation.links import LinkCounts, LossCause
    from aerowire.simulation.network import SimulatedNetwork
    from aerowire.simulation.packet_capture import PacketCapture
    from aerowire.simulation.packet_trace import PacketFate, PacketLog, PacketRecord
    from aerowire.simulation.partitions import Partition, PartitionKind
    from aerowire.simulation.process import NEVER_NS, Deadline, Process, ProcessState, Work
    from aerowire.simulation.scenarios.plan import MS, SECOND, Kind, Medium, Scenario
    from aerowire.simulation.world import Participant, SimulatedWorld

__all__ = [
    "MS",
    "NEVER_NS",
    "SECOND",
    "Deadline",
    "HostClock",
    "Kind",
    "LinkCounts",
    "LinkFaults",
    "LossCause",
    "Medium",
    "PacketCapture",
    "PacketFate",
    "PacketLog",
    "PacketRecord",
    "Participant",
    "Partition",
    "PartitionKind",
    "Process",
    "ProcessState",
    "Scenario",
    "SimulatedArchive",
    "SimulatedClient",
    "SimulatedHost",
    "SimulatedNetwork",
    "SimulatedWorld",
    "Work",
]

_NAMES_BY_MODULE = {
    "archives": ("SimulatedArchive",),
    "clients": ("SimulatedClient",),
    "host": ("SimulatedHost",),
    "host_clock": ("HostClock",),
    "link_faults": ("LinkFaults",),
    "links": ("LinkCounts", "LossCause"),
    "network": ("SimulatedNetwork",),
    "packet_capture": ("PacketCapture",),
    "packet_trace": ("PacketFate", "PacketLog", "PacketRecord"),
    "partitions": ("Partition", "PartitionKind"),
    "process": ("NEVER_NS", "Deadline", "Process", "ProcessState", "Work"),
    "scenarios.plan": ("MS", "SECOND", "Kind", "Medium", "Scenario"),
    "world": ("Participant", "SimulatedWorld"),
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
