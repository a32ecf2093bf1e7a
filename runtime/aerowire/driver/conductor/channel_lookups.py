"""The addresses that commands' channels name: looked up by a thread that may block, one command at a time and in order."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from aerowire.driver.channels.socket_address import is_numeric, parse_address
from aerowire.driver.channels.udp_channel import UdpChannel, names_to_resolve

if TYPE_CHECKING:
    from aerowire.base.channel_uri import ChannelUri
    from aerowire.base.socket_address import SocketAddress
    from aerowire.driver.conductor.driver_core import DriverCore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A command that waits for the names in its channel."""

    correlation_id: int
    resolved: Future[Any]
    then: Callable[[Any], object]


class ChannelLookups:
    """Invariant: while a command waits, no other one is begun."""

    def __init__(self, core: DriverCore, executor: Executor | None, attempt: Callable[[int, Callable[[], object]], object]) -> None:
        """`executor` runs look-ups (None: the caller does); `attempt` runs the rest of a command, and answers it when that fails."""
        self._core = core
        self._executor = executor
        self._attempt = attempt
        self._waiting: _Lookup | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a command waits, and those behind it with it."""
        return self._waiting is not None

    def proceed(self) -> bool:
        """Go on with the command that waits; return False when its names are not there yet."""
        waiting = self._waiting
        if waiting is None or not waiting.resolved.done():
            return False
        self._waiting = None
        self._attempt(waiting.correlation_id, lambda: waiting.then(waiting.resolved.result()))
        return True

    def with_addresses(
        self, channel: ChannelUri, correlation_id: int, then: Callable[[UdpChannel], object], *, is_destination: bool = False
    ) -> None:
        """Call `then` with the channel and its addresses."""
        ports = self._core.ports

        def resolve() -> UdpChannel:
            return UdpChannel.resolve(channel, resolver=ports.resolver, interfaces=ports.interfaces, is_destination=is_destination)

        self._look_up(names_to_resolve(channel), correlation_id, resolve, then)

    def with_endpoint(self, channel: ChannelUri, text: str, correlation_id: int, then: Callable[[SocketAddress], object]) -> None:
        """Call `then` with the address of the channel's endpoint, which is `text`."""
        resolver = self._core.ports.resolver
        self._look_up([text], correlation_id, lambda: parse_address(channel.original, "endpoint", text, resolver), then)

    def _look_up(self, texts: list[str], correlation_id: int, resolve: Callable[[], T], then: Callable[[T], object]) -> None:
        if self._executor is None or all(is_numeric(text) for text in texts):
            then(resolve())
            return
        future = self._executor.submit(resolve)
        self._waiting = _Lookup(correlation_id, future, then)
        future.add_done_callback(lambda _future: self._core.events.wake())
