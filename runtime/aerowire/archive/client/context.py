"""The configuration of an archive's client: options by keyword, property and environment, and handlers. Aeron: AeronArchive.Context."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerowire.archive.client.client_options import ClientOptions, ConcludedClientOptions, check_positive
from aerowire.base import arguments
from aerowire.base.channel_uri import ChannelUri

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingSignalEvent
    from aerowire.base.errors import ArchiveError

_OPTION_NAMES: Final = {
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


@dataclass(kw_only=True)
class ArchiveClientContext(ClientOptions):
    """Everything that `AeronArchive.connect` takes. A field that is None gets its value from `properties`, the environment, or the default.

    `aeron` is the client that is used, and stays open; without one, a client of `aeron_dir` is connected, and closed with the archive's.
    `ports` are those of that client. Durations are nanoseconds, or text such as "5s". `recording_signal_consumer` is called with each
    signal, `error_handler` with each error that answers no request; both while some call of the client polls, and neither may wait.
    Without an `error_handler`, errors are kept for `poll_for_error_response`. A request that finds no room is sent by a later poll, until
    its time is over; where `message_retry_attempts` is set, that often. `lock` is one that its holder may take again
    (threading.RLock, the default), or contextlib.nullcontext() where one thread does everything. `idle_strategy` is that of calls that
    wait. `agent_invoker` is invoked by calls that wait: an archive or a driver without threads of its own.
    """

    scope = "archive-client"
    option_names = _OPTION_NAMES
    channels = ("control_request_channel", "control_response_channel")
    peer = "an archive"
    connect_call = "AeronArchive.connect"
    form = "an ArchiveClientContext"
    see = "aerowire.archive.ArchiveClientContext"

    control_request_channel: str | None = None
    control_request_stream_id: int | None = None
    control_response_channel: str | None = None
    control_response_stream_id: int | None = None
    control_term_buffer_length: int | str | None = None
    control_term_buffer_sparse: bool | None = None
    control_mtu_length: int | str | None = None
    recording_events_channel: str | None = None
    recording_events_stream_id: int | None = None
    message_retry_attempts: int | None = None
    recording_signal_consumer: Callable[[RecordingSignalEvent], object] | None = None
    error_handler: Callable[[ArchiveError], object] | None = None
    lock: AbstractContextManager[object] | None = None

    def conclude(self) -> ConcludedArchiveContext:
        """Return the context with every value settled and checked. Raises ConfigurationError and ChannelError."""
        values, given = self.settle()
        if "message_retry_attempts" not in given:
            # The option's default is gone within a millisecond, and a driver that is not given the processor for longer is not unusual.
            values["message_retry_attempts"] = None
        check_positive("message_retry_attempts", values["message_retry_attempts"])
        if self.lock is None:
            values["lock"] = threading.RLock()
        return ConcludedArchiveContext(**values)

    def check_types(self) -> None:
        """Raise WrongTypeError as the base does, and for the handlers and the lock."""
        super().check_types()
        arguments.function("recording_signal_consumer", self.recording_signal_consumer)
        arguments.function("error_handler", self.error_handler)
        arguments.having("lock", self.lock, "__enter__", "a lock, such as threading.RLock() or contextlib.nullcontext()")


@dataclass(kw_only=True, frozen=True)
class ConcludedArchiveContext(ConcludedClientOptions):
    """A context in which every value is there. Invariant: the values are in range, and the control channels are channels."""

    control_request_channel: str
    control_request_stream_id: int
    control_response_channel: str
    control_response_stream_id: int
    control_term_buffer_length: int
    control_term_buffer_sparse: bool
    control_mtu_length: int
    recording_events_channel: str | None
    recording_events_stream_id: int
    message_retry_attempts: int | None
    recording_signal_consumer: Callable[[RecordingSignalEvent], object] | None
    error_handler: Callable[[ArchiveError], object] | None
    lock: AbstractContextManager[object]

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
