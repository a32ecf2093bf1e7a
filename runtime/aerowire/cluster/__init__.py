"""The Cluster: a service that runs on several machines and applies the same log on each of them, by Raft's rules and Aeron's protocol.

A member is a media driver, an archive, a consensus module and one or more services. The parts of the consensus module, and the order in
which effects of one decision happen:

1. `consensus` decides. Its machines take messages of other members, the results of effects, and the time; they return effects as values.
   They read no clock, file or stream. A machine that was given the same inputs returns the same effects.
2. The consensus module's agent carries effects out in the order in which they were returned, and gives their results back to the machine.
   Effects of one decision are ordered: what must be stored, then what is sent, then what is applied.
   - A candidate term is in the node state before a vote or a request for votes that names it leaves the member.
   - A term is in recording.log before the member appends to, or follows, the log of that term.
   - An append position is sent only for what the member's archive has recorded; with a sync level, for what it has synced.
   - A commit position moves only to what a quorum has reported, and never back. Services see nothing beyond it.
   - A truncation of the log ends before the member answers for the term that required it.
3. `files` keeps recording.log, the node state and the mark files, through the files port. It knows neither streams nor elections.

What an effect's result changes is decided by the machine alone: an agent that cannot carry an effect out says so, and decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from aerowire.archive.client.credentials import CredentialsSupplier, FixedCredentials
    from aerowire.cluster.client.aeron_cluster import AeronCluster
    from aerowire.cluster.client.async_connect import AsyncConnect, ConnectState
    from aerowire.cluster.client.client_state import ClusterState
    from aerowire.cluster.client.context import ClusterClientContext
    from aerowire.cluster.client.listeners import ControlledEgressListener, EgressListener, EventListener
    from aerowire.cluster.client.reconnecting_cluster import ReconnectingCluster, ReconnectState
    from aerowire.cluster.client.requests_in_flight import InDoubt
    from aerowire.cluster.client.session_ingress import SESSION_HEADER_LENGTH, IngressSessionDecorator
    from aerowire.cluster.module.consensus_module import ConsensusModule
    from aerowire.cluster.module.context import ConsensusModuleContext
    from aerowire.cluster.module.extension.consensus_module_control import ClusterClientSession, ConsensusModuleControl, ExtensionLog
    from aerowire.cluster.module.extension.consensus_module_extension import ConsensusControlState, ConsensusModuleExtension
    from aerowire.cluster.sessions.extension_message import ExtensionMessage

__all__ = [
    "SESSION_HEADER_LENGTH",
    "AeronCluster",
    "AsyncConnect",
    "ClusterClientContext",
    "ClusterClientSession",
    "ClusterState",
    "ConnectState",
    "ConsensusControlState",
    "ConsensusModule",
    "ConsensusModuleContext",
    "ConsensusModuleControl",
    "ConsensusModuleExtension",
    "ControlledEgressListener",
    "CredentialsSupplier",
    "EgressListener",
    "EventListener",
    "ExtensionLog",
    "ExtensionMessage",
    "FixedCredentials",
    "InDoubt",
    "IngressSessionDecorator",
    "ReconnectState",
    "ReconnectingCluster",
]

_MODULES = {
    "aerowire.archive.client.credentials": ("CredentialsSupplier", "FixedCredentials"),
    "aerowire.cluster.client.aeron_cluster": ("AeronCluster",),
    "aerowire.cluster.client.async_connect": ("AsyncConnect", "ConnectState"),
    "aerowire.cluster.client.client_state": ("ClusterState",),
    "aerowire.cluster.client.context": ("ClusterClientContext",),
    "aerowire.cluster.client.listeners": ("ControlledEgressListener", "EgressListener", "EventListener"),
    "aerowire.cluster.client.reconnecting_cluster": ("ReconnectState", "ReconnectingCluster"),
    "aerowire.cluster.client.requests_in_flight": ("InDoubt",),
    "aerowire.cluster.client.session_ingress": ("SESSION_HEADER_LENGTH", "IngressSessionDecorator"),
    "aerowire.cluster.module.consensus_module": ("ConsensusModule",),
    "aerowire.cluster.module.context": ("ConsensusModuleContext",),
    "aerowire.cluster.module.extension.consensus_module_control": ("ClusterClientSession", "ConsensusModuleControl", "ExtensionLog"),
    "aerowire.cluster.module.extension.consensus_module_extension": ("ConsensusControlState", "ConsensusModuleExtension"),
    "aerowire.cluster.sessions.extension_message": ("ExtensionMessage",),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
