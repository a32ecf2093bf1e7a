"""What an application asks its client for: publications, subscriptions, counters, by waiting or without. Aeron: Aeron.

Knows no threads and nothing of how a client lives and ends (aeron.py); each call goes to the conductor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO, TypeVar

from aerowire.base import arguments
from aerowire.base.channel_keys import accept_channel
from aerowire.base.errors import ConfigurationError
from aerowire.base.text import printable
from aerowire.client.conductor.handlers import AVAILABLE_COUNTER, CLOSE, UNAVAILABLE_COUNTER
from aerowire.client.handles.counter import Counter
from aerowire.client.publications.publication import ExclusivePublication, Publication
from aerowire.client.subscriptions.subscription import Subscription
from aerowire.codecs.flyweights.cnc import COUNTER_KEY_LENGTH_MAX, COUNTER_LABEL_LENGTH_MAX

if TYPE_CHECKING:
    from aerowire.client.conductor.conductor import ClientConductor
    from aerowire.client.context import ConcludedContext
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.image import Image
    from aerowire.ipc.counters import CountersReader


ImageHandler = Callable[["Image"], object]
CounterHandler = Callable[["CountersReader", int, int], object]
T = TypeVar("T")


class AeronCommands:
    """The part of a client that asks its driver for things. Any thread.

    A command is started by an `async_` method, which returns a Pending: many may be in flight. Its `registration_id` is the number by which
    the `get_` and `async_remove_` methods know what it asks for. The methods that wait raise BlockingCallError in a simulated world.
    """

    def __init__(self, context: ConcludedContext, conductor: ClientConductor) -> None:
        self._context = context
        self._conductor = conductor

    # ---- publications and subscriptions

    def add_publication(self, channel: str, stream_id: int, *, timeout_ns: int | str | None = None) -> Publication:
        """Add a publication that may be offered to from many threads, and wait for the driver.

        `timeout_ns` is how long to wait; None: `driver_timeout_ns`. Raises ChannelError for a channel that is not valid, RegistrationError
        (with the driver's `error_code`) when the driver refuses, DriverTimeoutError when it does not answer.
        """
        self._require_waiting("add_publication")
        return self._conductor.wait(self.async_add_publication(channel, stream_id), timeout_ns)

    def add_exclusive_publication(self, channel: str, stream_id: int, *, timeout_ns: int | str | None = None) -> ExclusivePublication:
        """Add a publication with a session of its own for one thread, and wait for the driver. As `add_publication`."""
        self._require_waiting("add_exclusive_publication")
        return self._conductor.wait(self.async_add_exclusive_publication(channel, stream_id), timeout_ns)

    def add_subscription(
        self,
        channel: str,
        stream_id: int,
        *,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
        timeout_ns: int | str | None = None,
    ) -> Subscription:
        """Add a subscription and wait for the driver. The handlers (default: the context's) are called with each image that comes and goes.

        Raises as `add_publication`.
        """
        self._require_waiting("add_subscription")
        pending = self.async_add_subscription(
            channel, stream_id, available_image_handler=available_image_handler, unavailable_image_handler=unavailable_image_handler
        )
        return self._conductor.wait(pending, timeout_ns)

    def async_add_publication(self, channel: str, stream_id: int) -> Pending[Publication]:
        """Start to add a publication: `poll()` the result until it returns true, then take its `result()`."""
        stream_id = self._check_stream(channel, stream_id)
        return self._conductor.requests.start_publication(channel, stream_id)

    def async_add_exclusive_publication(self, channel: str, stream_id: int) -> Pending[ExclusivePublication]:
        """Start to add an exclusive publication: `poll()` the result until it returns true, then take its `result()`."""
        stream_id = self._check_stream(channel, stream_id)
        return self._conductor.requests.start_exclusive_publication(channel, stream_id)

    def async_add_subscription(
        self,
        channel: str,
        stream_id: int,
        *,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
    ) -> Pending[Subscription]:
        """Start to add a subscription: `poll()` the result until it returns true, then take its `result()`."""
        stream_id = self._check_stream(channel, stream_id)
        arguments.function("available_image_handler", available_image_handler)
        arguments.function("unavailable_image_handler", unavailable_image_handler)
        return self._conductor.requests.start_subscription(
            channel,
            stream_id,
            available_image_handler or self._context.available_image_handler,
            unavailable_image_handler or self._context.unavailable_image_handler,
        )

    def get_publication(self, registration_id: int) -> Publication | None:
        """Return the publication that `async_add_publication` asked for; None while the driver has not answered.

        Raises, once, what the driver refused it with.
        """
        return self._found(registration_id, Publication)

    def get_exclusive_publication(self, registration_id: int) -> ExclusivePublication | None:
        """As `get_publication`."""
        return self._found(registration_id, ExclusivePublication)

    def get_subscription(self, registration_id: int) -> Subscription | None:
        """As `get_publication`."""
        return self._found(registration_id, Subscription)

    def get_counter(self, registration_id: int) -> Counter | None:
        """As `get_publication`; a static counter is asked for by the number of the command."""
        return self._found(registration_id, Counter)

    def async_remove_publication(self, registration_id: int) -> None:
        """Close a publication of either kind by its registration id, or give up adding it. Does not wait; nothing where there is none."""
        self._conductor.start_removal(_whole_number("registration id", registration_id, 64))

    def async_remove_subscription(self, registration_id: int) -> None:
        """As `async_remove_publication`."""
        self._conductor.start_removal(_whole_number("registration id", registration_id, 64))

    def async_remove_counter(self, registration_id: int) -> None:
        """As `async_remove_publication`."""
        self._conductor.start_removal(_whole_number("registration id", registration_id, 64))

    def is_command_active(self, correlation_id: int) -> bool:
        """Return whether the driver has not answered a command yet: an `async_` one, or one that gave something back."""
        return self._conductor.is_command_active(_whole_number("correlation id", correlation_id, 64))

    def has_active_commands(self) -> bool:
        """Return whether the driver has not answered some command yet."""
        return self._conductor.has_active_commands()

    def next_correlation_id(self) -> int:
        """Return a number that no other command or client of this driver has or gets."""
        self._conductor.ensure_open()
        return self._conductor.next_correlation_id()

    def next_session_id(self, stream_id: int, *, timeout_ns: int | str | None = None) -> int:
        """Ask the driver for a session id that nobody uses on the stream."""
        self._require_waiting("next_session_id")
        return self._conductor.wait(self.async_next_session_id(stream_id), timeout_ns)

    def async_next_session_id(self, stream_id: int) -> Pending[int]:
        """Start to ask for a session id: `poll()` the result until it returns true, then take its `result()`."""
        stream_id = _whole_number("stream id", stream_id, 32)
        return self._conductor.requests.start_next_session_id(stream_id)

    # ---- counters

    def add_counter(self, type_id: int, label: str = "", *, key: bytes = b"", timeout_ns: int | str | None = None) -> Counter:
        """Add a counter that lives as long as this client keeps it, and wait. Raises RegistrationError, CountersFullError."""
        self._require_waiting("add_counter")
        return self._conductor.wait(self.async_add_counter(type_id, label, key=key), timeout_ns)

    def async_add_counter(self, type_id: int, label: str = "", *, key: bytes = b"") -> Pending[Counter]:
        """Start to add a counter: `poll()` the result until it returns true, then take its `result()`."""
        type_id = _whole_number("type id", type_id, 32)
        key = _counter_key(key, label)
        return self._conductor.requests.start_counter(type_id, key, label)

    def add_static_counter(
        self, type_id: int, label: str = "", *, registration_id: int, key: bytes = b"", timeout_ns: int | str | None = None
    ) -> Counter:
        """Add, or find again, a counter that outlives its clients, by type and registration id; and wait."""
        self._require_waiting("add_static_counter")
        return self._conductor.wait(self.async_add_static_counter(type_id, label, registration_id=registration_id, key=key), timeout_ns)

    def async_add_static_counter(self, type_id: int, label: str = "", *, registration_id: int, key: bytes = b"") -> Pending[Counter]:
        """Start to add a static counter: `poll()` the result until it returns true, then take its `result()`."""
        type_id = _whole_number("type id", type_id, 32)
        registration_id = _whole_number("registration id", registration_id, 64)
        key = _counter_key(key, label)
        return self._conductor.requests.start_static_counter(type_id, registration_id, key, label)

    @property
    def counters_reader(self) -> CountersReader:
        """All counters of the driver and its clients, for reading."""
        self._conductor.ensure_open()
        return self._conductor.counters

    def print_counters(self, out: TextIO | None = None) -> None:
        """Write a line for each counter, `id: value - label`, to `out` (default: standard output)."""
        self._conductor.ensure_open()
        for counter in self._conductor.counters.for_each():
            print(f"{counter.counter_id:3}: {counter.value:,} - {printable(counter.label)}", file=out)

    def add_available_counter_handler(self, handler: CounterHandler) -> int:
        """Call `handler(counters_reader, registration_id, counter_id)` for each counter that appears; returns a number to remove it by."""
        return self._conductor.handlers.add(AVAILABLE_COUNTER, handler)

    def remove_available_counter_handler(self, handler: int | CounterHandler) -> bool:
        """Remove a handler by its number, or by itself; returns whether it was there."""
        return self._conductor.handlers.remove(AVAILABLE_COUNTER, handler)

    def add_unavailable_counter_handler(self, handler: CounterHandler) -> int:
        """Call `handler(counters_reader, registration_id, counter_id)` for each counter that goes; returns a number to remove it by."""
        return self._conductor.handlers.add(UNAVAILABLE_COUNTER, handler)

    def remove_unavailable_counter_handler(self, handler: int | CounterHandler) -> bool:
        """Remove a handler by its number, or by itself; returns whether it was there."""
        return self._conductor.handlers.remove(UNAVAILABLE_COUNTER, handler)

    def add_close_handler(self, handler: Callable[[], object]) -> int:
        """Call `handler()` when the client closes; returns a number to remove it by."""
        return self._conductor.handlers.add(CLOSE, handler)

    def remove_close_handler(self, handler: int | Callable[[], object]) -> bool:
        """Remove a handler by its number, or by itself; returns whether it was there."""
        return self._conductor.handlers.remove(CLOSE, handler)

    def _require_waiting(self, call: str) -> None:
        self._conductor.require_waiting(f"Aeron.{call}", f"Aeron.async_{call}")

    def _found(self, registration_id: int, kind: type[T]) -> T | None:
        resource = self._conductor.find(_whole_number("registration id", registration_id, 64))
        if resource is None or isinstance(resource, kind):
            return resource
        raise TypeError(f"registration {registration_id} is a {type(resource).__name__}, not a {kind.__name__}")

    def _check_stream(self, channel: str, stream_id: int) -> int:
        """Return the stream id; raises for one that is none, and for a channel that is not valid."""
        channel = arguments.text("channel", channel, expected="a channel URI as text, such as 'aeron:ipc'")
        if self._context.validate_channels:
            accept_channel(channel)
        return _whole_number("stream id", stream_id, 32, channel)


def _whole_number(what: str, value: object, bits: int, where: str | None = None) -> int:
    limit = 1 << (bits - 1)
    return arguments.whole_number(what, value, -limit, limit - 1, where=where, hint=f"a {what} has {bits} bits on the wire")


def _counter_key(key: object, label: object) -> bytes:
    """Return a counter's key; raises for one that is none or too long, and for such a label."""
    found = arguments.octets("a counter's key", key)
    for what, length, limit in (
        ("a counter's key", len(found), COUNTER_KEY_LENGTH_MAX),
        ("a counter's label", len(arguments.text("a counter's label", label)), COUNTER_LABEL_LENGTH_MAX),
    ):
        if length > limit:
            raise ConfigurationError(f"{what} is too long", expected=f"at most {limit} bytes", actual=length)
    return found
