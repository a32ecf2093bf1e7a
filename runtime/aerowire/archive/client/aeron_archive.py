"""The client of an archive. Aeron: AeronArchive.

with AeronArchive.connect(control_request_channel="aeron:udp?endpoint=localhost:8010", control_response_channel=...) as archive:
    for recording in archive.list_recordings():
        print(recording)
"""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from aerowire.archive.client.async_connect import AsyncConnect, Connected
from aerowire.archive.client.composite_commands import CompositeCommands
from aerowire.archive.client.context import ArchiveClientContext
from aerowire.archive.client.control_session import SessionState
from aerowire.archive.client.event_commands import EventCommands
from aerowire.archive.client.segment_commands import SegmentCommands
from aerowire.archive.client.steps import Steps
from aerowire.archive.client.waiting import wait_for_result
from aerowire.base.errors import ArchiveConnectionError
from aerowire.base.units import INT64_MAX
from aerowire.recordings.versions import version_text

if TYPE_CHECKING:
    from aerowire.archive.client.context import ConcludedArchiveContext
    from aerowire.base.errors import ArchiveError
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.subscription import Subscription


class AeronArchive(CompositeCommands, SegmentCommands, EventCommands):
    """A control session with one archive. From `AeronArchive.connect` or `AeronArchive.async_connect`; a context manager; any thread.

    Ends with `close`, with its client, and when the archive closes the session or is gone: then every call raises
    ArchiveConnectionError, and a new one has to be connected. `poll()` handles what comes between the calls: recording signals, and errors
    that answer no request.
    """

    def __init__(self, connected: Connected) -> None:
        super().__init__(connected.session)
        self._protocol_version = connected.protocol_version
        self._owns_aeron = connected.owns_aeron
        self._closing: Pending[None] | None = None

    @classmethod
    def connect(cls, context: ArchiveClientContext | None = None, **options: object) -> AeronArchive:
        """Connect to an archive. `options` are the fields of ArchiveClientContext, or pass a `context`.

        Waits up to `message_timeout_ns` (10 s). Raises ArchiveTimeoutError, ArchiveError (AUTHENTICATION_REJECTED, or another major version
        of the protocol), ConfigurationError, ChannelError, RegistrationError, what keeps the client from its driver, and BlockingCallError
        in a simulated world.
        """
        concluded = ArchiveClientContext.chosen(context, options).conclude()
        concluded.ports.waiting.require("AeronArchive.connect", "AeronArchive.async_connect")
        return wait_for_result(AsyncConnect(concluded, cls), concluded)

    @classmethod
    def async_connect(cls, context: ArchiveClientContext | None = None, **options: object) -> AsyncConnect:
        """Start to connect, as `connect`: `poll()` the result until it returns true, then take its `result()`, the client."""
        return AsyncConnect(ArchiveClientContext.chosen(context, options).conclude(), cls)

    # ---- the session

    @property
    def context(self) -> ConcludedArchiveContext:
        """The options that the client runs with."""
        return self._session.context

    @property
    def aeron(self) -> Aeron:
        """The client of the media driver that it uses."""
        return self._session.aeron

    @property
    def response_subscription(self) -> Subscription:
        """The subscription to the archive's responses: for who waits for them by other means. Only this client may poll it."""
        return self._session.poller.subscription

    @property
    def control_session_id(self) -> int:
        """Number by which the archive knows this client."""
        return self._session.session_id

    @property
    def archive_id(self) -> int:
        """Number of the archive; -1 for one that is older than protocol version 1.11."""
        return self._session.archive_id

    @property
    def protocol_version(self) -> str:
        """Version of the protocol that the archive speaks."""
        return version_text(self._protocol_version)

    @property
    def state(self) -> SessionState:
        """Whether requests can be made, as the last poll has found it."""
        return self._session.state

    @property
    def is_connected(self) -> bool:
        """Whether requests can be made, as the last poll has found it."""
        return self._session.state is SessionState.CONNECTED

    def poll(self) -> int:
        """Handle what the archive says, and end what is late; return how much was done. Does not wait.

        Every call that waits does it too. Raises what a handler raises, and what has ended the client of the driver.
        """
        return self._session.poll()

    def next_deadline_ns(self) -> int:
        """Return when (ns of the client's clock) the first request in flight is late; INT64_MAX without one."""
        found = self._session.next_deadline_ns()
        return INT64_MAX if found is None else found

    def keep_alive(self) -> bool:
        """Tell the archive that the client is there, which it does not answer; return whether there was room for that. Does not wait."""
        return self._session.keep_alive()

    def poll_for_recording_signals(self) -> int:
        """Poll, and return for how many recording signals `recording_signal_consumer` was called. Raises as `check_for_error_response`."""
        count = self._session.poll_signals()
        self._raise(self._session.take_error() if count == 0 else None)
        return count

    def poll_for_error_response(self) -> ArchiveError | None:
        """Poll, and return the next error that answers no request, or None: of a replay, or a replication.

        The error is an ArchiveConnectionError once the archive is not connected any more.
        """
        try:
            error = self._session.take_error()
            return error if error is not None or self.is_connected else self._disconnection()
        except ArchiveConnectionError as error:
            return error

    def check_for_error_response(self) -> None:
        """Poll, and raise the next error that answers no request, if there is one. Raises ArchiveConnectionError without a connection."""
        self._raise(self._session.take_error())
        if not self.is_connected:
            raise self._disconnection()

    # ---- the end

    def close(self) -> None:
        """Close the session, and the client of the driver if it was made for this. Requests in flight fail. A second call does nothing."""
        self._session.close()
        if self._owns_aeron:
            self.aeron.close()

    def async_close(self) -> Pending[None]:
        """Start to close, as `close`: `poll()` the result until it returns true. The session ends at once."""
        self._session.close()
        if self._closing is None:
            self._closing = Steps("close the client of the archive", self._close_aeron())
        return self._closing

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"AeronArchive(control_session_id={self.control_session_id}, archive_id={self.archive_id}, "
            f"control_request_channel={self.context.control_request_channel!r}, state={self.state.name})"
        )

    def _close_aeron(self) -> Generator[Pending[Any] | None, Any, None]:
        if self._owns_aeron:
            yield self.aeron.async_close()

    def _raise(self, error: ArchiveError | None) -> None:
        if error is not None:
            raise error

    def _disconnection(self) -> ArchiveConnectionError:
        return self._session.disconnection()
