"""A client of a cluster in an event loop that opens another session when one has ended.

from aerowire import aio
from aerowire.aio.reconnecting_cluster import reconnecting_cluster

async with aio.connect() as aeron, reconnecting_cluster(aeron, ingress_channel=..., egress_channel=..., on_in_doubt=print) as cluster:
    await cluster.request("order 17", b"an order")
    async for message in cluster:
        cluster.answered(key_of(message.payload))
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from aerowire.aio.cluster import looped_context
from aerowire.aio.cluster_egress import AsyncEgress, EgressMessages
from aerowire.aio.handle import time_limit_s, within
from aerowire.aio.opening import Opening
from aerowire.base.errors import ClosedError
from aerowire.cluster.client.context import ClusterClientContext
from aerowire.cluster.client.reconnecting_cluster import KEEP_ALIVE_INTERVAL, RECONNECT_DELAY, REQUESTS_MAX, ReconnectingCluster

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.aio.client import AsyncAeron
    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.client.listeners import EventListener
    from aerowire.cluster.client.reconnecting_cluster import ConnectedHandler, InDoubtHandler
    from aerowire.cluster.client.requests_in_flight import InDoubt


def reconnecting_cluster(
    aeron: AsyncAeron,
    context: ClusterClientContext | None = None,
    *,
    event_listener: EventListener | None = None,
    on_in_doubt: InDoubtHandler | None = None,
    on_connected: ConnectedHandler | None = None,
    reconnect_delay_ns: int | str = RECONNECT_DELAY,
    keep_alive_interval_ns: int | str = KEEP_ALIVE_INTERVAL,
    requests_max: int = REQUESTS_MAX,
    **options: object,
) -> Opening[AsyncReconnectingCluster]:
    """Open sessions with a cluster, one after another: `async with reconnecting_cluster(...) as cluster`. Does not wait for the first.

    `options` are the fields of ClusterClientContext but for its listeners, or pass a `context`; the others are those of
    ReconnectingCluster. Handlers are called in the loop.
    """
    messages = EgressMessages(event_listener)
    looped = looped_context(aeron, ClusterClientContext.chosen(context, options), messages)

    async def start() -> AsyncReconnectingCluster:
        client = ReconnectingCluster(
            looped,
            reconnect_delay_ns=reconnect_delay_ns,
            keep_alive_interval_ns=keep_alive_interval_ns,
            requests_max=requests_max,
            on_in_doubt=on_in_doubt,
            on_connected=on_connected,
        )
        return AsyncReconnectingCluster(aeron, client, messages)

    return Opening(start)


class AsyncReconnectingCluster(AsyncEgress):
    """Sessions with a cluster, one after another, of one event loop. From `reconnecting_cluster`; an asynchronous context manager.

    An asynchronous iterator of the messages of services over all sessions. Rejected credentials end it for good; then every wait raises
    that error. Requests, also those in doubt, are as with ReconnectingCluster. Belongs to the loop's thread.
    """

    def __init__(self, aeron: AsyncAeron, client: ReconnectingCluster, messages: EgressMessages) -> None:
        self._client = client
        super().__init__(aeron, messages)

    @property
    def client(self) -> ReconnectingCluster:
        """The client that this one polls, for what does not wait."""
        return self._client

    @property
    def is_closed(self) -> bool:
        """Whether it has ended for good."""
        return self._client.is_closed

    @property
    def is_connected(self) -> bool:
        """Whether a session is open, and its leader is known."""
        return self._client.is_connected

    @property
    def in_doubt(self) -> tuple[InDoubt, ...]:
        """Requests in doubt that were neither answered nor sent again, in the order in which they were sent."""
        return self._client.in_doubt

    async def connected(self) -> None:
        """Wait until a session is open. Raises ClosedError when closed here, and what has ended it for good."""
        self._senders += 1
        try:
            while not self._client.is_connected:
                self._raise_failure()
                if self.is_closed:
                    raise ClosedError("the client of the cluster is closed", where=self, expected="an open one")
                await self._changes.wait()
        finally:
            self._senders -= 1

    async def request(self, key: Hashable, message: Buffer, *, timeout_s: float | None = None) -> int:
        """Send a request, waiting for room, a leader or a session; return its position in the ingress stream.

        `timeout_s` is how long to wait; None: for ever. It is not sent twice. Raises ClusterTimeoutError when it was not sent in time.
        """
        sending = self._until_sent(lambda: self._client.request(key, message))
        return await within(time_limit_s(timeout_s), sending, lambda: self._too_late(timeout_s))

    def answered(self, key: Hashable) -> bool:
        """Forget a request that was answered, or will not be; return whether it was in flight or in doubt."""
        return self._client.answered(key)

    def __repr__(self) -> str:
        return f"AsyncReconnectingCluster({self._client!r})"

    # ---- below: helpers

    def _poll(self) -> None:
        self._client.poll()

    def _images(self) -> Iterable[Image]:
        cluster = self._client.cluster
        return () if cluster is None else cluster.egress_subscription.images

    def _close_client(self) -> None:
        self._client.close()

    def _reason(self) -> BaseException | None:
        return None  # `poll` of the client has raised it
