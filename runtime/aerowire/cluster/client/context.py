"""The configuration of a cluster's client: options by keyword, property and environment, and listeners. Aeron: AeronCluster.Context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerowire.archive.client.client_options import ClientOptions, ConcludedClientOptions, check_positive, is_response_channel
from aerowire.base import arguments
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ConfigurationError
from aerowire.cluster.client.ingress_endpoints import parse_ingress_endpoints
from aerowire.cluster.client.listeners import ControlledEgressListener, EgressListener, controlled_listener_of, listener_of

if TYPE_CHECKING:
    from aerowire.cluster.client.listeners import ControlledMessageHandler, ExtensionListener, MessageHandler

_OPTION_NAMES: Final = {
    "ingress_endpoints": "ingress_endpoints",
    "ingress_channel": "ingress_channel",
    "ingress_stream_id": "ingress_stream_id",
    "egress_channel": "egress_channel",
    "egress_stream_id": "egress_stream_id",
    "message_timeout_ns": "message_timeout_ns",
    "client_name": "client_name",
}


@dataclass(kw_only=True)
class ClusterClientContext(ClientOptions):
    """Everything that `AeronCluster.connect` takes. A field that is None gets its value from `properties`, the environment, or the default.

    `aeron` is the client that is used, and stays open; without one, a client of `aeron_dir` is connected, and closed with the cluster's.
    `ports` are those of that client. Durations are nanoseconds, or text such as "5s". `ingress_endpoints` is `id=host:port,...`; each
    endpoint is put into `ingress_channel`. Without it the channel itself leads to the cluster: by multicast, or by IPC.

    `message_timeout_ns` is how long connecting, and reaching a new leader that is known, may take; `new_leader_timeout_ns` how long a
    cluster may be without a leader (default: twice the heartbeat timeout of the cluster). `poll_egress` calls `egress_listener`, and
    `controlled_poll_egress` calls `controlled_egress_listener`; each may be a function, which gets messages only. `extension_listener` gets
    messages of other schemas. `is_ingress_exclusive` opens a publication of its own for ingress. `idle_strategy` is that of calls that
    wait. `agent_invoker` is invoked by calls that wait: a driver without threads of its own.
    """

    scope = "cluster-client"
    option_names = _OPTION_NAMES
    channels = ("ingress_channel", "egress_channel")
    peer = "a cluster"
    connect_call = "AeronCluster.connect"
    form = "a ClusterClientContext"
    see = "aerowire.cluster.ClusterClientContext"

    ingress_endpoints: str | None = None
    ingress_channel: str | None = None
    ingress_stream_id: int | None = None
    egress_channel: str | None = None
    egress_stream_id: int | None = None
    new_leader_timeout_ns: int | str | None = None
    is_ingress_exclusive: bool = True
    egress_listener: EgressListener | MessageHandler | None = None
    controlled_egress_listener: ControlledEgressListener | ControlledMessageHandler | None = None
    extension_listener: ExtensionListener | None = None

    def conclude(self) -> ConcludedClusterContext:
        """Return the context with every value settled and checked. Raises ConfigurationError and ChannelError."""
        values, _ = self.settle()
        if self.new_leader_timeout_ns is not None:
            values["new_leader_timeout_ns"] = arguments.duration_ns("new_leader_timeout_ns", self.new_leader_timeout_ns)
        check_positive("new_leader_timeout_ns", values["new_leader_timeout_ns"])
        values["egress_listener"] = listener_of(self.egress_listener)
        values["controlled_egress_listener"] = controlled_listener_of(self.controlled_egress_listener)
        _check_endpoints(values["ingress_endpoints"], values["ingress_channel"])
        return ConcludedClusterContext(**values)

    def check_types(self) -> None:
        """Raise WrongTypeError as the base does, and for the listener of other schemas."""
        super().check_types()
        arguments.function("extension_listener", self.extension_listener)


@dataclass(kw_only=True, frozen=True)
class ConcludedClusterContext(ConcludedClientOptions):
    """A context in which every value is there. Invariant: the values are in range, and the channels are channels."""

    ingress_endpoints: str | None
    ingress_channel: str
    ingress_stream_id: int
    egress_channel: str
    egress_stream_id: int
    new_leader_timeout_ns: int | None
    is_ingress_exclusive: bool
    egress_listener: EgressListener
    controlled_egress_listener: ControlledEgressListener
    extension_listener: ExtensionListener | None

    def egress_subscription_channel(self) -> str:
        """Return the channel of the egress subscription. An image of UDP that is lost does not come again, with a gap in its messages."""
        uri = ChannelUri.parse(self.egress_channel)
        if uri.is_udp:
            uri.parameters["rejoin"] = "false"
        return str(uri)

    def ingress_publication_channel(self, endpoint: str | None, egress_registration_id: int) -> str:
        """Return the channel of an ingress publication to a member; `endpoint` is None where the channel itself leads to the cluster.

        By a response channel, the publication names the egress subscription that the answers belong to.
        """
        uri = ChannelUri.parse(self.ingress_channel)
        if endpoint is not None and uri.is_udp:
            uri.parameters["endpoint"] = endpoint
        if is_response_channel(self.egress_channel):
            uri.parameters["response-correlation-id"] = str(egress_registration_id)
        return str(uri)


def _check_endpoints(endpoints: str | None, ingress_channel: str) -> None:
    if endpoints is None:
        return
    if ChannelUri.parse(ingress_channel).is_ipc:
        raise ConfigurationError(
            "ingress_endpoints and IPC ingress exclude each other",
            where=ingress_channel,
            expected="no ingress_endpoints",
            actual=endpoints,
        )
    parse_ingress_endpoints(endpoints)
