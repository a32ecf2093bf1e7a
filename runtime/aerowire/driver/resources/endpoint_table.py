"""The endpoints of one direction: found by canonical form, by tag and by native object. Aeron: DriverConductor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from aerowire.base.errors import ChannelError, RegistrationError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.udp_channel import ControlMode

if TYPE_CHECKING:
    from aerowire.driver.channels.udp_channel import UdpChannel
    from aerowire.driver.resources.endpoints import ReceiveChannel, SendChannel

_Entry = TypeVar("_Entry", "SendChannel", "ReceiveChannel")


class EndpointTable(Generic[_Entry]):
    """Invariant: of one canonical form there may be several, each with a tag of its own; an entry is in both tables or in none."""

    def __init__(self, direction: str) -> None:
        """`direction` is what errors call these endpoints."""
        self._direction = direction
        self._by_form: dict[str, list[_Entry]] = {}
        self._by_native: dict[object, _Entry] = {}

    def __iter__(self) -> Iterator[_Entry]:
        return iter(tuple(self._by_native.values()))

    def __len__(self) -> int:
        return len(self._by_native)

    def add(self, entry: _Entry) -> None:
        self._by_native[entry.native] = entry
        self._by_form.setdefault(entry.channel.canonical_form, []).append(entry)

    def remove(self, native: object) -> _Entry | None:
        """Take the entry of a native endpoint out and return it; None when there is none."""
        entry = self._by_native.pop(native, None)
        if entry is not None:
            form = entry.channel.canonical_form
            self._by_form[form].remove(entry)
            if not self._by_form[form]:
                del self._by_form[form]
        return entry

    def of_native(self, native: object) -> _Entry | None:
        """Return the entry of a native endpoint."""
        return self._by_native.get(native)

    def find(self, channel: UdpChannel, *, needs_place: bool) -> _Entry | None:
        """Return the endpoint that `channel` shares, or None.

        Raises ChannelError when `channel` disagrees with the one that has its tag, or, if it `needs_place`, has nothing but a tag that
        nobody has; RegistrationError when the endpoint is closing.
        """
        if channel.tag is not None:
            for entry in self._by_native.values():
                if entry.channel.matches_tag(channel, local=entry.control, remote=entry.peer):
                    return check_usable(entry, self._direction)
            has_place = channel.has_explicit_endpoint or channel.has_explicit_control or channel.control_mode is ControlMode.MANUAL
            if needs_place and not has_place:
                raise ChannelError(
                    "no channel has this tag",
                    where=channel.original,
                    expected="the tag of an existing channel, or an endpoint, control or control-mode=manual",
                    actual=f"tags={channel.uri.get('tags')}",
                    error_code=ErrorCode.INVALID_CHANNEL,
                )
        for entry in self._by_form.get(channel.canonical_form, ()):
            if entry.channel.tag is None or channel.tag is None or entry.channel.tag == channel.tag:
                return check_usable(entry, self._direction)
        return None

    def clear(self) -> None:
        self._by_form.clear()
        self._by_native.clear()


def check_usable(entry: _Entry, direction: str) -> _Entry:
    """Return the entry of an endpoint; raises RegistrationError when it is closing."""
    if entry.is_closing:
        raise RegistrationError(
            f"the {direction} endpoint is closing",
            where=entry.channel.original,
            expected="an active endpoint",
            actual="closing",
            hint="try again",
            error_code=ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE,
        )
    return entry
