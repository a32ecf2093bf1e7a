"""Destinations of publications and sources of subscriptions: asks the driver to add and remove them. Aeron: ClientConductor.addDestination.

A destination is known by its channel, and of a publication also by the registration id that adding it gave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base import arguments, units
from aerowire.base.channel_keys import check_channel
from aerowire.base.errors import AerowireError
from aerowire.client.subscriptions.subscription import Subscription
from aerowire.codecs.flyweights.commands import CommandType

if TYPE_CHECKING:
    from aerowire.client.conductor.conductor import ClientConductor
    from aerowire.client.conductor.driver_proxy import DriverProxy
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication, Publication


class Destinations:
    """One client's commands about destinations. Any thread; keeps nothing."""

    def __init__(self, conductor: ClientConductor, proxy: DriverProxy, *, validates: bool) -> None:
        self._conductor = conductor
        self._proxy = proxy
        self._validates = validates

    def start_adding(self, handle: Publication | ExclusivePublication | Subscription, channel: str) -> Pending[int]:
        """Ask for a destination; the answer is its registration id."""
        command = CommandType.ADD_RCV_DESTINATION if isinstance(handle, Subscription) else CommandType.ADD_DESTINATION
        return self._start(command, handle, channel)  # type: ignore[return-value]

    def start_removing(self, handle: Publication | ExclusivePublication | Subscription, destination: str | int) -> Pending[None]:
        """Ask to remove a destination by its channel, or by its registration id."""
        if not isinstance(destination, str):
            hint = "a destination is removed by its channel, or by its registration id"
            destination = arguments.whole_number("destination", destination, units.INT64_MIN, units.INT64_MAX, hint=hint)
        if isinstance(destination, str):
            command = CommandType.REMOVE_RCV_DESTINATION if isinstance(handle, Subscription) else CommandType.REMOVE_DESTINATION
            return self._start(command, handle, destination)  # type: ignore[return-value]
        if isinstance(handle, Subscription):
            raise AerowireError(
                "the protocol removes a subscription's source by its channel only",
                where=handle.channel,
                expected="a channel",
                actual=destination,
            )
        return self._conductor.ask(  # type: ignore[return-value]
            lambda: self._proxy.remove_destination_by_id(handle.original_registration_id, destination),
            f"remove destination {destination} from {handle.channel}",
        )

    def _start(self, command: CommandType, handle: Publication | ExclusivePublication | Subscription, channel: str) -> Pending[object]:
        arguments.text("channel", channel, expected="a channel URI as text")
        if self._validates:
            check_channel(channel)
        owner = handle.registration_id if isinstance(handle, Subscription) else handle.original_registration_id
        what = command.name.lower().replace("_", " ")
        return self._conductor.ask(lambda: self._proxy.destination(command, owner, channel), f"{what} {channel}", channel)
