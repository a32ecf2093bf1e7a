"""A publication for whoever has messages and no client: fills the port `aerowire.pcap.publishing`, of which it knows only the shape.

Found by the entry-point group `aerowire.publishers`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError, BackPressureError, NotConnectedError
from aerowire.tools.connection import connect
from aerowire.tools.streams.delivery import await_subscriber, drain

if TYPE_CHECKING:
    from aerowire.client import Aeron, ExclusivePublication


@contextmanager
def open_publisher(
    channel: str,
    stream_id: int,
    *,
    properties: Mapping[str, str],
    wait_s: float | None,
    offer_timeout_s: float | None,
    name: str,
) -> Iterator[ClientPublisher]:
    """Connect a client and add an exclusive publication; both are closed at the end.

    properties: the client's options by property, such as aeron.dir.  wait_s: how long to wait for a subscriber; offer_timeout_s: for room;
    None waits for ever.  Raises AerowireError where there is no driver, or it refuses the channel.
    """
    with connect(name, properties=properties) as aeron, aeron.add_exclusive_publication(channel, stream_id) as publication:
        yield ClientPublisher(aeron, publication, wait_s=wait_s, offer_timeout_s=offer_timeout_s)


class ClientPublisher:
    """One exclusive publication and what was sent on it. Invariant: the publication has taken the first `sent` messages, in order."""

    failures = (AerowireError,)

    def __init__(self, aeron: Aeron, publication: ExclusivePublication, *, wait_s: float | None, offer_timeout_s: float | None) -> None:
        self._aeron = aeron
        self._publication = publication
        self._wait_s = wait_s
        self._timeout_s = offer_timeout_s
        self._timeout_ns = None if offer_timeout_s is None else int(offer_timeout_s * 1e9)
        self.session_id = publication.session_id
        self.max_message_length = publication.max_message_length
        self.sent = 0
        self.blocked_ns = 0

    def await_subscriber(self) -> None:
        """Wait until somebody subscribes. Raises NotConnectedError when nobody does in time, DriverError once the driver is gone."""
        if not await_subscriber(self._publication, self._wait_s):
            raise NotConnectedError(
                "no subscriber",
                where=self._publication,
                expected=f"one within {self._wait_s:g} s",
                actual="none",
                hint="start a subscriber of the same channel and stream; for UDP see that its endpoint is this channel's",
            )

    def publish(self, messages: Sequence[bytes], reserved_values: Sequence[int] | None = None) -> None:
        """Send messages in order, waiting under back pressure.

        reserved_values: one a message, for the header; 0 without them.  Raises NotConnectedError when the subscriber left and none came
        in time, BackPressureError when subscribers left no room for as long, MaxPositionExceededError, PublicationClosedError,
        MessageTooLongError, DriverError.
        """
        if reserved_values is not None:
            for message, value in zip(messages, reserved_values, strict=True):
                if self._publication.offer(message, reserved_value=value) <= 0:
                    self._send(message, value)
                self.sent += 1
            return
        done = 0
        # One that is too long raises; what stands before it is sent and counted first.
        fitting = next((index for index, message in enumerate(messages) if len(message) > self.max_message_length), len(messages))
        while done < len(messages):
            taken = self._publication.offer_many(messages[done : fitting if done < fitting else len(messages)])
            if taken <= 0:  # says why; sending one that waits tells apart what passes from what does not
                self._send(messages[done], None)
                taken = 1
            done += taken
            self.sent += taken

    def _send(self, message: bytes, reserved_value: int | None) -> None:
        """Send one message, waiting for as long as there is no room for it."""
        began_ns = time.monotonic_ns()
        try:
            self._publication.send(message, reserved_value=reserved_value, timeout_ns=self._timeout_ns)
        finally:
            self.blocked_ns += time.monotonic_ns() - began_ns

    def check(self) -> None:
        """Raise DriverError once the driver is gone, PublicationClosedError when the publication is closed."""
        self._publication.offer_many(())

    def drain(self) -> None:
        """Wait until every position that follows the stream at this driver has reached its end.

        Raises BackPressureError when none of them moves for as long as an offer may take, NotConnectedError when the subscriber left.
        """
        if drain(self._aeron, self._publication, self._timeout_s):
            return
        if not self._publication.is_connected:
            raise NotConnectedError("the subscriber left before it had everything", where=self._publication)
        raise BackPressureError(
            "the subscribers do not take what was sent",
            where=self._publication,
            expected=f"position {self._publication.position}, or to come nearer within {self._timeout_s:g} s",
            actual="no move",
            hint="a subscriber that does not poll holds the stream back until it is closed",
        )
