"""The configuration of an archive's client: options by keyword, property and environment, and handlers. Aeron: AeronArchive.Context."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
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
from aerowire.codecs.flyweights.cnc import CLIENT_NAME_LENGTH_MAX
from aerowire.system.ports import Ports

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingSignalEvent
    from aerowire.base.errors import ArchiveError

# Field of the context -> option that gives it a value when it is None.
_OPTION_NAMES = {
    "control_request_channel": "control_channel",
    "control_request_stream_id": "control_stream_id",
    "control_response_channel": "control_response_channel",
    "control_response_stream_id": "control_response_stream_id",
    "control_term_buffer_length": "control_term_buffer_length",
    "control_term_buffer_sparse": "control_term_buffer_sparse",
    "control_mtu_length": "control_mtu_length",
    "recording_events_channel": "recording_events_channel",
    "recording_events_stream_id": "recording_events_stream_id",
    "message_timeout_ns": "message_timeout_ns",
    "message_retry_attempts": "message_retry_attempts",
    "client_name": "client_name",
}
CONTROL_MODE_RESPONSE = "response"


@dataclass(kw_only=True)
class ArchiveClientContext:
    """Everything that `AeronArchive.connect` takes. A field that is None gets its value from `properties`, the environment, or the default.

    `aeron` is the client that is used, and stays open; without one, a client of `aeron_dir` is connected, and closed with the archive's.
    `ports` are those of that client. Durations are nanoseconds, or text such as "5s". `recording_signal_consumer` is called with each
    signal, `error_handler` with each error that answers no request; both while some call of the client polls, and neither may wait.
    Without an `error_handler`, errors are kept for `poll_for_error_response`. A request that finds no room is sent by a later poll, until
    its time is over; where `message_retry_attempts` is set, that often. `lock` is one that its holder may take again
    (threading.RLock, the default), or contextlib.nullcontext() where one thread does everything. `idle_strategy` is that of calls that
    wait. `agent_invoker` is invoked by calls that wait: an archive or a driver without threads of its own.
    """

    aeron: Aeron | None = None
    aeron_dir: str | os.PathLike[str] | None = None
    control_request_channel: str | None = None
    control_request_stream_id: int | None = None
    control_response_channel: str | None = None
    control_response_stream_id: int | None = None
    control_term_buffer_length: int | str | None = None
    control_term_buffer_sparse: bool | None = None
    control_mtu_length: int | str | None = None
    recording_events_channel: str | None = None
    recording_events_stream_id: int | None = None
    message_timeout_ns: int | str | None = None
    message_retry_attempts: int | None = None
    client_name: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] | None = None
    ports: Ports | None = None
    credentials_supplier: CredentialsSupplier | None = None
    recording_signal_consumer: Callable[[RecordingSignalEvent], object] | None = None
    error_handler: Callable[[ArchiveError], object] | None = None
    lock: AbstractContextManager[object] | None = None
    idle_strategy: IdleStrategy | None = None
    agent_invoker: Invoker | None = None

    @classmethod
    def of(cls, **options: object) -> ArchiveClientContext:
        """Build a context; raises UnknownOptionError for a name that it does not have."""
        known = {entry.name for entry in fields(cls)}
        what, see = "a client of an archive has no such option", "aerowire.archive.ArchiveClientContext"
        arguments.option_names(options, known, what, where="AeronArchive.connect", see=see)
        return cls(**options)  # type: ignore[arg-type]

    @classmethod
    def chosen(cls, context: ArchiveClientContext | None, options: Mapping[str, object]) -> ArchiveClientContext:
        """Return the context that a call of `connect` asks for: the one given, or one of the options."""
        arguments.instance("context", context, ArchiveClientContext, "an ArchiveClientContext, or options as keywords")
        if context is not None and options:
            raise TypeError(f"pass either a context or options, not both: {', '.join(options)}")
        return context if context is not None else cls.of(**options)

    def conclude(self) -> ConcludedArchiveContext:
        """Return the context with every value settled and checked. Raises ConfigurationError and ChannelError."""
        self._check_types()
        overrides = {option: getattr(self, name) for name, option in _OPTION_NAMES.items() if getattr(self, name) is not None}
        values = resolve_options({"archive-client"}, overrides, self.properties, self.environ)
        settled = {name: values[option] for name, option in _OPTION_NAMES.items()}
        if "message_retry_attempts" not in values.given:
            # The option's default is gone within a millisecond, and a driver that is not given the processor for longer is not unusual.
            settled["message_retry_attempts"] = None
        given = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in _OPTION_NAMES}
        defaults: dict[str, object] = {
            "credentials_supplier": FixedCredentials(),
            "lock": threading.RLock(),
            "idle_strategy": BackoffIdleStrategy(),
            "ports": self.aeron.context.ports if self.aeron is not None else Ports.system(),
        }
        for name, default in defaults.items():
            given[name] = default if given[name] is None else given[name]
        concluded = ConcludedArchiveContext(**{**given, **settled})
        concluded.check()
        return concluded

    def _check_types(self) -> None:
        arguments.instance("aeron", self.aeron, Aeron, "an Aeron client")
        arguments.instance("ports", self.ports, Ports, "Ports")
        arguments.instance("idle_strategy", self.idle_strategy, IdleStrategy, "an IdleStrategy")
        arguments.function("recording_signal_consumer", self.recording_signal_consumer)
        arguments.function("error_handler", self.error_handler)
        for name, method, expected in (
            ("lock", "__enter__", "a lock, such as threading.RLock() or contextlib.nullcontext()"),
            ("agent_invoker", "invoke", "an object with invoke()"),
            ("credentials_supplier", "encoded_credentials", "a CredentialsSupplier, such as FixedCredentials(b'...')"),
        ):
            value = getattr(self, name)
            if value is not None and not hasattr(value, method):
                raise arguments.wrong_type(name, value, expected)


@dataclass(kw_only=True, frozen=True)
class ConcludedArchiveContext:
    """A context in which every value is there. Invariant: the values are in range, and the control channels are channels."""

    aeron: Aeron | None
    aeron_dir: str | os.PathLike[str] | None
    control_request_channel: str
    control_request_stream_id: int
    control_response_channel: str
    control_response_stream_id: int
    control_term_buffer_length: int
    control_term_buffer_sparse: bool
    control_mtu_length: int
    recording_events_channel: str | None
    recording_events_stream_id: int
    message_timeout_ns: int
    message_retry_attempts: int | None
    client_name: str
    properties: Mapping[str, str]
    environ: Mapping[str, str] | None
    ports: Ports
    credentials_supplier: CredentialsSupplier
    recording_signal_consumer: Callable[[RecordingSignalEvent], object] | None
    error_handler: Callable[[ArchiveError], object] | None
    lock: AbstractContextManager[object]
    idle_strategy: IdleStrategy
    agent_invoker: Invoker | None

    def check(self) -> None:
        """Raise ConfigurationError for a value that is missing or out of range, ChannelError for a channel that is none."""
        for name in ("control_request_channel", "control_response_channel"):
            if not getattr(self, name):
                raise ConfigurationError(
                    f"{name} is not set",
                    where="AeronArchive.connect",
                    expected="a channel URI",
                    hint=f"pass {name}=, or set {_property_of(name)}",
                )
            ChannelUri.parse(getattr(self, name))
        if len(self.client_name) > CLIENT_NAME_LENGTH_MAX or not self.client_name.isascii():
            raise ConfigurationError(
                "client_name is too long or not ASCII",
                where="client_name",
                expected=f"at most {CLIENT_NAME_LENGTH_MAX} ASCII characters",
                actual=repr(self.client_name),
            )
        for name in ("message_retry_attempts", "message_timeout_ns"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is out of range", where=name, expected="at least 1", actual=value)

    def control_channel(self, channel: str) -> ChannelUri:
        """Return a control channel with the term length, MTU and sparseness of these options where it has none of its own."""
        uri = ChannelUri.parse(channel)
        for key, value in (
            ("term-length", str(self.control_term_buffer_length)),
            ("mtu", str(self.control_mtu_length)),
            ("sparse", str(self.control_term_buffer_sparse).lower()),
        ):
            uri.parameters.setdefault(key, value)
        return uri


def is_response_channel(channel: str) -> bool:
    """Return whether a channel is a response channel: the other end opens the publication that answers on it."""
    return ChannelUri.parse(channel).get("control-mode") == CONTROL_MODE_RESPONSE


def _property_of(name: str) -> str:
    from aerowire.codecs.tables.archive_options import OPTIONS  # only a mistake needs it

    return OPTIONS[_OPTION_NAMES[name]].property
