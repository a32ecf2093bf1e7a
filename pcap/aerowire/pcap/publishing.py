"""The port through which messages leave for a stream: what replaying and the Spark sink need of a client, and where one is found.

This package knows no client.  What fills the port is named by the entry-point group `aerowire.publishers`; the runtime's own is known by
name too, so that it is found where its sources are but its metadata is not (in a zip for executors, in a checkout).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import metadata
from typing import Protocol, cast

from aerowire.pcap.errors import CaptureError

ENTRY_POINT_GROUP = "aerowire.publishers"
RUNTIME_HOME = "aerowire.tools.streams.publisher:open_publisher"
TIMEOUT_S = 5.0  # a subscriber takes less to be found, and a person waits about as long before looking for a fault


class PublishError(CaptureError):
    """Messages cannot be published, or not all of them."""


@dataclass(frozen=True)
class Target:
    """Where messages go: a stream of a channel, at a driver. Times are in seconds; None waits for ever."""

    channel: str
    stream_id: int
    properties: Mapping[str, str] = field(default_factory=dict)  # a client's, such as aeron.dir
    wait_s: float | None = TIMEOUT_S  # for a subscriber
    offer_timeout_s: float | None = TIMEOUT_S  # for room, while subscribers do not keep up

    def __str__(self) -> str:
        return f"{self.channel} stream {self.stream_id}"


class Publisher(Protocol):
    """A publication of its own session on a target. Every method raises one of `failures`, which says why, once it cannot go on."""

    @property
    def failures(self) -> tuple[type[Exception], ...]: ...

    @property
    def session_id(self) -> int: ...

    @property
    def max_message_length(self) -> int:
        """The longest message that the publication takes, in bytes."""

    @property
    def sent(self) -> int:
        """How many messages the publication has taken, those of a `publish` that raised included."""

    @property
    def blocked_ns(self) -> int:
        """How long it waited for room, because subscribers did not keep up."""

    def await_subscriber(self) -> None:
        """Wait until somebody subscribes; raise when nobody does within the target's `wait_s`."""

    def publish(self, messages: Sequence[bytes], reserved_values: Sequence[int] | None = None) -> None:
        """Send messages in order, trying again for as long as the target's `offer_timeout_s` while there is no room for one."""

    def check(self) -> None:
        """Raise if the driver has gone."""

    def drain(self) -> None:
        """Wait until all that was sent was taken; raise when the subscriber left before, or takes nothing within `offer_timeout_s`."""


class Opener(Protocol):
    """What fills the port."""

    def __call__(
        self,
        channel: str,
        stream_id: int,
        *,
        properties: Mapping[str, str],
        wait_s: float | None,
        offer_timeout_s: float | None,
        name: str,
    ) -> AbstractContextManager[Publisher]: ...


def open_publisher(target: Target, name: str) -> AbstractContextManager[Publisher]:
    """Return a publication on a target, closed at the end of a `with`; `name` is the client's among the driver's counters.

    Raises PublishError where nothing is installed that can publish.
    """
    return find_opener()(
        target.channel,
        target.stream_id,
        properties=target.properties,
        wait_s=target.wait_s,
        offer_timeout_s=target.offer_timeout_s,
        name=name,
    )


def find_opener() -> Opener:
    """Return what fills the port.  Raises PublishError where nothing does."""
    homes = sorted(entry.value for entry in metadata.entry_points(group=ENTRY_POINT_GROUP)) or [RUNTIME_HOME]
    module_name, _, attribute = homes[0].partition(":")
    try:
        return cast(Opener, getattr(importlib.import_module(module_name), attribute))
    except (ImportError, AttributeError) as error:
        raise PublishError(
            f"nothing here can publish: expected {homes[0]} (entry points {ENTRY_POINT_GROUP}), found {error}; "
            "install aerowire with its native modules on every machine that publishes"
        ) from error
