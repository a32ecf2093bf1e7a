"""The configuration of a cluster's client: options by keyword, property and environment, and listeners. Aeron: AeronCluster.Context."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from aerowire.archive.client.credentials import CredentialsSupplier, FixedCredentials
from aerowire.base import arguments
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ConfigurationError
from aerowire.base.idle import BackoffIdleStrategy, IdleStrategy
from aerowire.base.options import resolve_options
from aerowire.client.aeron import Aeron
from aerowire.client.context import Invoker
from aerowire.cluster.client.ingress_endpoints import parse_ingress_endpoints
from aerowire.cluster.client.listeners import ControlledEgressListener, EgressListener, controlled_listener_of, listener_of
from aerowire.codecs.flyweights.cnc import CLIENT_NAME_LENGTH_MAX
from aerowire.system.ports import Ports

if TYPE_CHECKING:
    from aerowire.cluster.client.listeners import ControlledMessageHandler, ExtensionListener, MessageHandler

# Field of the context -> option that gives it a value when it is None.
_OPTION_NAMES = {
    "ingress_endpoints": "ingress_endpoints",
    "ingress_channel": "ingress_channel",
    "ingress_stream_id": "ingress_stream_id",
    "egress_channel": "egress_channel",
    "egress_stream_id": "egress_stream_id",
    "message_timeout_ns": "message_timeout_ns",
    "client_name": "client_name",
}
CONTROL_MODE_RESPONSE = "response"


@dataclass(kw_only=True)
class ClusterClientContext:
    """Everything that `AeronCluster.connect` takes. A field that is None gets its value from `properties`, the environment, or the default.

    `aeron` is the client that is used, and stays open; without one, a client of `aeron_dir` is connected, and closed with the cluster's.
    `ports` are those of that client. Durations are nanoseconds, or text such as "5s". `ingress_endpoints` is `id=host:port,...`; each
    endpoint is put into `ingress_channel`. Without it the channel itself leads to the cluster: by multicast, or by IPC.

    `message_timeout_ns` is how long connecting, and reaching a new leader that is known, may take; `new_leader_timeout_ns` how long a
    cluster may be without a leader (default: twice the heartbeat timeout that the cluster tells). `egress_listener` is told what
    `poll_egress` finds, `controlled_egress_listener` what `controlled_poll_egress` finds; each may be a function, which gets messages
    only. `extension_listener` gets messages of other schemas. `is_ingress_exclusive` opens a publication of its own for ingress.
    `idle_strategy` is that of calls that wait. `agent_invoker` is invoked by calls that wait: a driver without threads of its own.
    """

    aeron: Aeron | None = None
    aeron_dir: str | os.PathLike[str] | None = None
    ingress_endpoints: str | None = None
    ingress_channel: str | None = None
    ingress_stream_id: int | None = None
    egress_channel: str | None = None
    egress_stream_id: int | None = None
    message_timeout_ns: int | str | None = None
    new_leader_timeout_ns: int | str | None = None
    client_name: str | None = None
    is_ingress_exclusive: bool = True
    properties: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] | None = None
    ports: Ports | None = None
    credentials_supplier: CredentialsSupplier | None = None
    egress_listener: EgressListener | MessageHandler | None = None
    controlled_egress_listener: ControlledEgressListener | ControlledMessageHandler | None = None
    extension_listener: ExtensionListener | None = None
    idle_strategy: IdleStrategy | None = None
    agent_invoker: Invoker | None = None

    @classmethod
    def of(cls, **options: object) -> ClusterClientContext:
        """Build a context; raises UnknownOptionError for a name that it does not have."""
        known = {entry.name for entry in fields(cls)}
        what, see = "a client of a cluster has no such option", "aerowire.cluster.ClusterClientContext"
        arguments.option_names(options, known, what, where="AeronCluster.connect", see=see)
        return cls(**options)  # type: ignore[arg-type]

    @classmethod
    def chosen(cls, context: ClusterClientContext | None, options: Mapping[str, object]) -> ClusterClientContext:
        """Return the context that a call of `connect` asks for: the one given, or one of the options."""
        arguments.instance("context", context, ClusterClientContext, "a ClusterClientContext, or options as keywords")
        if context is not None and options:
            raise TypeError(f"pass either a context or options, not both: {', '.join(options)}")
        return context if context is not None else cls.of(**options)

    def conclude(self) -> ConcludedClusterContext:
        """Return the context with every value settled and checked. Raises ConfigurationError and ChannelError."""
        self._check_types()
        overrides = {option: getattr(self, name) for name, option in _OPTION_NAMES.items() if getattr(self, name) is not None}
        values = resolve_options({"cluster-client"}, overrides, self.properties, self.environ)
        settled = {name: values[option] for name, option in _OPTION_NAMES.items()}
        given = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in _OPTION_NAMES}
        defaults: dict[str, object] = {
            "credentials_supplier": FixedCredentials(),
            "idle_strategy": BackoffIdleStrategy(),
            "ports": self.aeron.context.ports if self.aeron is not None else Ports.system(),
        }
        for name, default in defaults.items():
            given[name] = default if given[name] is None else given[name]
        if self.new_leader_timeout_ns is not None:
            given["new_leader_timeout_ns"] = arguments.duration_ns("new_leader_timeout_ns", self.new_leader_timeout_ns)
        given["egress_listener"] = listener_of(self.egress_listener)
        given["controlled_egress_listener"] = controlled_listener_of(self.controlled_egress_listener)
        concluded = ConcludedClusterContext(**{**given, **settled})
        concluded.check()
        return concluded

    def _check_types(self) -> None:
        arguments.instance("aeron", self.aeron, Aeron, "an Aeron client")
        arguments.instance("ports", self.ports, Ports, "Ports")
        arguments.instance("idle_strategy", self.idle_strategy, IdleStrategy, "an IdleStrategy")
        arguments.function("extension_listener", self.extension_listener)
        for name, method, expected in (
            ("agent_invoker", "invoke", "an object with invoke()"),
            ("credentials_supplier", "encoded_credentials", "a CredentialsSupplier, such as FixedCredentials(b'...')"),
        ):
            value = getattr(self, name)
            if value is not None and not hasattr(value, method):
                raise arguments.wrong_type(name, value, expected)


@dataclass(kw_only=True, frozen=True)
class ConcludedClusterContext:
    """A context in which every value is there. Invariant: the values are in range, and the channels are channels."""

    aeron: Aeron | None
    aeron_dir: str | os.PathLike[str] | None
    ingress_endpoints: str | None
    ingress_channel: str
    ingress_stream_id: int
    egress_channel: str
    egress_stream_id: int
    message_timeout_ns: int
    new_leader_timeout_ns: int | None
    client_name: str
    is_ingress_exclusive: bool
    properties: Mapping[str, str]
    environ: Mapping[str, str] | None
    ports: Ports
    credentials_supplier: CredentialsSupplier
    egress_listener: EgressListener
    controlled_egress_listener: ControlledEgressListener
    extension_listener: ExtensionListener | None
    idle_strategy: IdleStrategy
    agent_invoker: Invoker | None

    def check(self) -> None:
        """Raise ConfigurationError for a value that is missing or out of range, ChannelError for a channel that is none."""
        for name in ("ingress_channel", "egress_channel"):
            if not getattr(self, name):
                raise ConfigurationError(
                    f"{name} is not set",
                    where="AeronCluster.connect",
                    expected="a channel URI",
                    hint=f"pass {name}=, or set {_property_of(name)}",
                )
            ChannelUri.parse(getattr(self, name))
        if self.ingress_endpoints is not None:
            if ChannelUri.parse(self.ingress_channel).is_ipc:
                raise ConfigurationError(
                    "ingress_endpoints and IPC ingress exclude each other",
                    where=self.ingress_channel,
                    expected="no ingress_endpoints",
                    actual=self.ingress_endpoints,
                )
            parse_ingress_endpoints(self.ingress_endpoints)
        if len(self.client_name) > CLIENT_NAME_LENGTH_MAX or not self.client_name.isascii():
            raise ConfigurationError(
                "client_name is too long or not ASCII",
                where="client_name",
                expected=f"at most {CLIENT_NAME_LENGTH_MAX} ASCII characters",
                actual=repr(self.client_name),
            )
        for name in ("message_timeout_ns", "new_leader_timeout_ns"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is out of range", where=name, expected="at least 1", actual=value)

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
        if ChannelUri.parse(self.egress_channel).get("control-mode") == CONTROL_MODE_RESPONSE:
            uri.parameters["response-correlation-id"] = str(egress_registration_id)
        return str(uri)


def _property_of(name: str) -> str:
    from aerowire.codecs.tables.cluster_options import OPTIONS  # only a mistake needs it

    return OPTIONS[_OPTION_NAMES[name]].property
