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

from aerowire.base.lazy_names import lazy_names

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

_MODULES = {
    "aerowire.simulation.archives": ("SimulatedArchive",),
    "aerowire.simulation.clients": ("SimulatedClient",),
    "aerowire.simulation.host": ("SimulatedHost",),
    "aerowire.simulation.host_clock": ("HostClock",),
    "aerowire.simulation.link_faults": ("LinkFaults",),
    "aerowire.simulation.links": ("LinkCounts", "LossCause"),
    "aerowire.simulation.network": ("SimulatedNetwork",),
    "aerowire.simulation.packet_capture": ("PacketCapture",),
    "aerowire.simulation.packet_trace": ("PacketFate", "PacketLog", "PacketRecord"),
    "aerowire.simulation.partitions": ("Partition", "PartitionKind"),
    "aerowire.simulation.process": ("NEVER_NS", "Deadline", "Process", "ProcessState", "Work"),
    "aerowire.simulation.scenarios.plan": ("MS", "SECOND", "Kind", "Medium", "Scenario"),
    "aerowire.simulation.world": ("Participant", "SimulatedWorld"),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
