"""Options that the clients of archives and of clusters have in common, and how a context of either settles its options."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from aerowire.archive.client.credentials import CredentialsSupplier, FixedCredentials
from aerowire.base import arguments
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ConfigurationError
from aerowire.base.idle import BackoffIdleStrategy, IdleStrategy
from aerowire.base.options import options_of, resolve_options
from aerowire.client.aeron import Aeron
from aerowire.client.context import Invoker, check_client_name
from aerowire.system.ports import Ports


@dataclass(kw_only=True)
class ClientOptions:
    """Base of a context: its common options, and the ways from keywords to settled values.

    A subclass sets `scope`, the name of its component in the tables of options; `option_names`, field -> option that gives it a value when
    it is None; `channels`, the fields that have to be channels; and texts of its errors: `peer`, `connect_call`, `form` and `see`.
    """

    scope: ClassVar[str]
    option_names: ClassVar[Mapping[str, str]]
    channels: ClassVar[tuple[str, ...]]
    peer: ClassVar[str]
    connect_call: ClassVar[str]
    form: ClassVar[str]
    see: ClassVar[str]

    aeron: Aeron | None = None
    aeron_dir: str | os.PathLike[str] | None = None
    message_timeout_ns: int | str | None = None
    client_name: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] | None = None
    ports: Ports | None = None
    credentials_supplier: CredentialsSupplier | None = None
    idle_strategy: IdleStrategy | None = None
    agent_invoker: Invoker | None = None

    @classmethod
    def of(cls, **options: Any) -> Self:
        """Build a context; raises UnknownOptionError for a name that it does not have."""
        known = {entry.name for entry in fields(cls)}
        arguments.option_names(options, known, f"a client of {cls.peer} has no such option", where=cls.connect_call, see=cls.see)
        return cls(**options)

    @classmethod
    def chosen(cls, context: Self | None, options: Mapping[str, object]) -> Self:
        """Return the context that a call of `connect` asks for: the one given, or one of the options."""
        arguments.instance("context", context, cls, f"{cls.form}, or options as keywords")
        if context is not None and options:
            raise TypeError(f"pass either a context or options, not both: {', '.join(options)}")
        return context if context is not None else cls.of(**options)

    def check_types(self) -> None:
        """Raise WrongTypeError for a value that no option of the tables describes and that cannot be used."""
        arguments.instance("aeron", self.aeron, Aeron, "an Aeron client")
        arguments.instance("ports", self.ports, Ports, "Ports")
        arguments.instance("idle_strategy", self.idle_strategy, IdleStrategy, "an IdleStrategy")
        arguments.having("agent_invoker", self.agent_invoker, "invoke", "an object with invoke()")
        expected = "a CredentialsSupplier, such as FixedCredentials(b'...')"
        arguments.having("credentials_supplier", self.credentials_supplier, "encoded_credentials", expected)

    def settle(self) -> tuple[dict[str, Any], Collection[str]]:
        """Return field -> settled value, and the names of the options that were set. Raises ConfigurationError and ChannelError."""
        self.check_types()
        names = self.option_names
        overrides = {option: getattr(self, name) for name, option in names.items() if getattr(self, name) is not None}
        options = resolve_options({self.scope}, overrides, self.properties, self.environ)
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        values |= {name: options[option] for name, option in names.items()}
        if self.credentials_supplier is None:
            values["credentials_supplier"] = FixedCredentials()
        if self.idle_strategy is None:
            values["idle_strategy"] = BackoffIdleStrategy()
        if self.ports is None:
            values["ports"] = Ports.system() if self.aeron is None else self.aeron.context.ports
        self._check_channels(values)
        check_client_name(values["client_name"])
        check_positive("message_timeout_ns", values["message_timeout_ns"])
        return values, options.given

    def _check_channels(self, values: Mapping[str, Any]) -> None:
        for name in self.channels:
            if not values[name]:
                raise ConfigurationError(
                    f"{name} is not set",
                    where=self.connect_call,
                    expected="a channel URI",
                    hint=f"pass {name}=, or set {options_of({self.scope})[self.option_names[name]].property}",
                )
            ChannelUri.parse(values[name])


@dataclass(kw_only=True, frozen=True)
class ConcludedClientOptions:
    """The common options when every value is there."""

    aeron: Aeron | None
    aeron_dir: str | os.PathLike[str] | None
    message_timeout_ns: int
    client_name: str
    properties: Mapping[str, str]
    environ: Mapping[str, str] | None
    ports: Ports
    credentials_supplier: CredentialsSupplier
    idle_strategy: IdleStrategy
    agent_invoker: Invoker | None


def check_positive(name: str, value: int | None) -> None:
    """Raise ConfigurationError for a value below 1; None stands for no value."""
    if value is not None and value < 1:
        raise ConfigurationError(f"{name} is out of range", where=name, expected="at least 1", actual=value)


def is_response_channel(channel: str) -> bool:
    """Return whether a channel is a response channel: the other end opens the publication that answers on it."""
    return ChannelUri.parse(channel).get("control-mode") == "response"
