"""Names looked up again: whoever has not been heard for a while may have moved to another address. Aeron: DriverConductor.

The agents tell which name is silent; the look-up runs beside the conductor, and an address that differs goes back to the agent.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from aerowire.base.socket_address import SocketAddress
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.channels.socket_address import is_numeric, parse_address
from aerowire.driver.names.timed_resolver import again

if TYPE_CHECKING:
    from aerowire.driver.conductor.driver_core import DriverCore
    from aerowire.driver.media.receive_transport import ReceiveTransport
    from aerowire.driver.resources.endpoints import Endpoints
    from aerowire.driver.resources.send_destinations import SendDestinations

# The registration of a channel's own peer, which no command added.
_OWN_PEER = -1


@dataclass(slots=True)
class _LookUp:
    """A look-up under way and what to do with its address."""

    future: Future[SocketAddress]
    then: Callable[[SocketAddress], object]


class ReResolution:
    """The look-ups of silent names. Invariant: at most one is under way for each name of an endpoint."""

    def __init__(self, core: DriverCore, endpoints: Endpoints, destinations: SendDestinations, lookups: Executor | None) -> None:
        self._core = core
        self._endpoints = endpoints
        self._destinations = destinations
        self._executor = lookups
        # Where a control address is now, of those that have moved.
        self._controls: WeakKeyDictionary[ReceiveTransport, SocketAddress] = WeakKeyDictionary()
        self._look_ups: dict[tuple[object, str], _LookUp] = {}

    def on_silent_sender(self, native: object, destination_id: int) -> None:
        """Nobody answers at a sending channel's peer, or at one of its destinations."""
        channel = self._endpoints.sender_of(native)
        if channel is None or channel.is_closing:
            return
        is_own_peer = destination_id == _OWN_PEER
        text = channel.channel.uri.get("endpoint") if is_own_peer else self._destinations.text_of(destination_id)
        if text is None:
            return

        def change(address: SocketAddress) -> None:
            if channel.is_closing:
                return
            if not is_own_peer:
                self._count(self._destinations.on_resolved(channel, text, address))
            # Officially an errored channel stays so; here it is connected when that can be done.
            elif address != channel.peer or self._endpoints.is_errored(channel):
                self._count(address != channel.peer)
                channel.peer = address
                self._core.sender.update_destination(channel.native, _OWN_PEER, address)

        self._look_up(native, channel.channel.original, "endpoint", text, change)

    def on_silent_control(self, native: object, transport_index: int) -> None:
        """Nothing comes from where a receiving channel, or one of its destinations, asks for streams."""
        entry = self._endpoints.receiver_of(native)
        if entry is None or entry.is_closing:
            return
        transport = entry.native.transport(transport_index)
        found = (item.channel for item in entry.destinations if item.native is transport)
        channel = next(found, entry.channel)
        text = channel.uri.get("control")
        if transport is None or text is None:
            return

        def change(address: SocketAddress) -> None:
            if entry.native.transport(transport_index) is transport and self._controls.get(transport, channel.local_control) != address:
                self._controls[transport] = address
                if channel is entry.channel:
                    entry.control = address
                self._core.receiver.change_control(transport, address)
                self._count(True)

        self._look_up(transport, channel.original, "control", text, change)

    def poll(self) -> int:
        """Use the look-ups that have ended; returns how many."""
        ended = [(key, item) for key, item in self._look_ups.items() if item.future.done()]
        for key, item in ended:
            del self._look_ups[key]
            try:
                item.then(item.future.result())
            except Exception as error:  # the name is unknown for now: what was known of it stands
                self._core.errors.record(error)
        return len(ended)

    def _look_up(self, native: object, channel: str, key: str, text: str, then: Callable[[SocketAddress], object]) -> None:
        if is_numeric(text) or (native, text) in self._look_ups:
            return

        def look_up() -> SocketAddress:
            return parse_address(channel, key, text, again(self._core.ports.resolver))

        if self._executor is None:
            future: Future[SocketAddress] = Future()
            try:
                future.set_result(look_up())
            except Exception as error:
                future.set_exception(error)
        else:
            future = self._executor.submit(look_up)
            future.add_done_callback(lambda _future: self._core.events.wake())
        self._look_ups[native, text] = _LookUp(future, then)

    def _count(self, is_changed: bool) -> None:
        if is_changed:
            self._core.count(SystemCounter.RESOLUTION_CHANGES)
