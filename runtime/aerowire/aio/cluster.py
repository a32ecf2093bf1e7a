"""The client of a cluster in an event loop.

from aerowire import aio
from aerowire.aio.cluster import connect_cluster

async with aio.connect() as aeron, connect_cluster(aeron, ingress_channel=..., ingress_endpoints=..., egress_channel=...) as cluster:
    await cluster.send(b"an order")
    async for message in cluster:
        print(message.payload)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aerowire.aio.arrivals import wait_once
from aerowire.aio.cluster_egress import AsyncEgress, EgressMessages
from aerowire.aio.handle import time_limit_s, within
from aerowire.aio.opening import Opening
from aerowire.base import arguments
from aerowire.base.errors import ClusterError, ConfigurationError
from aerowire.cluster.client.aeron_cluster import AeronCluster
from aerowire.cluster.client.context import ClusterClientContext
from aerowire.codecs.flyweights.cluster.enums import AdminResponseCode

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.aio.client import AsyncAeron
    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.client.listeners import EventListener
    from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse

# Well below a cluster's session timeout, which is 10 s unless it is configured otherwise.
KEEP_ALIVE_INTERVAL_S = 1.0


def connect_cluster(
    aeron: AsyncAeron,
    context: ClusterClientContext | None = None,
    *,
    event_listener: EventListener | None = None,
    keep_alive_interval_s: float = KEEP_ALIVE_INTERVAL_S,
    **options: object,
) -> Opening[AsyncAeronCluster]:
    """Connect to a cluster by a client of the loop: `async with connect_cluster(...) as cluster`, or await it.

    Arguments and errors as `AeronCluster.connect`, without listeners of the egress: the result is an iterator of the messages, and
    `event_listener` is called with other events, in the loop. A keep-alive is sent every `keep_alive_interval_s` seconds. When the task is
    cancelled while it connects, nothing stays open.
    """
    interval_s = arguments.seconds("keep_alive_interval_s", keep_alive_interval_s)
    messages = EgressMessages(event_listener)
    looped = looped_context(aeron, ClusterClientContext.chosen(context, options), messages)
    return Opening(lambda: AsyncAeronCluster._connect(aeron, looped, messages, interval_s))


def looped_context(aeron: AsyncAeron, context: ClusterClientContext, messages: EgressMessages) -> ClusterClientContext:
    """Return a context with the loop's client of the driver, and with `messages` as the listener of the egress."""
    for name in ("aeron", "egress_listener", "controlled_egress_listener"):
        if getattr(context, name) is not None:
            raise ConfigurationError(
                "a client of an event loop has the loop's client of the driver, and gives messages to those that wait for them",
                where="connect_cluster",
                expected=f"no option {name!r}",
            )
    return ClusterClientContext(**{**vars(context), "aeron": aeron.client, "controlled_egress_listener": messages})


class AsyncAeronCluster(AsyncEgress):
    """A session with a cluster, of one event loop. From `connect_cluster`; an asynchronous context manager.

    An asynchronous iterator of the messages of services, which ends when it is closed here, and raises why the session has ended otherwise.
    Several tasks may iterate and send; each message goes to one of them. A task of its own polls, follows leaders and keeps the session
    alive. Belongs to the loop's thread.
    """

    def __init__(self, aeron: AsyncAeron, client: AeronCluster, messages: EgressMessages, keep_alive_interval_s: float) -> None:
        self._client = client
        self._keep_alive_interval_s = keep_alive_interval_s
        self._next_keep_alive = aeron._loop.time() + keep_alive_interval_s
        super().__init__(aeron, messages)

    @property
    def client(self) -> AeronCluster:
        """The blocking client, for what does not wait. Only this object may poll it."""
        return self._client

    @property
    def is_closed(self) -> bool:
        """Whether the session has ended."""
        return self._client.is_closed

    async def send(self, message: Buffer, *, timeout_s: float | None = None) -> int:
        """Send a message, waiting for room, and for the next leader where one is lost; return its position in the ingress stream.

        `timeout_s` is how long to wait; None: as long as the session is open. A position says that the message is on its way, and not that
        the cluster has taken it. Raises ClusterTimeoutError when it was not sent in time, ClusterError when the session has ended.
        """
        sending = self._until_sent(lambda: self._client.offer(message))
        return await within(time_limit_s(timeout_s), sending, lambda: self._too_late(timeout_s))

    async def take_snapshot(self, *, timeout_s: float | None = None) -> None:
        """Ask the cluster for a snapshot, and wait until it has taken the request. Raises ClusterError when it refuses."""
        correlation_id = self._aeron.client.next_correlation_id()
        answer = await within(time_limit_s(timeout_s), self._ask_for_snapshot(correlation_id), lambda: self._too_late(timeout_s))
        if answer.response_code != AdminResponseCode.OK:
            raise ClusterError(
                f"the cluster refused to take a snapshot: {answer.message}", where=self._client, actual=answer.response_code.name
            )

    def __repr__(self) -> str:
        return f"AsyncAeronCluster({self._client!r})"

    # ---- below: helpers

    @classmethod
    async def _connect(
        cls, aeron: AsyncAeron, context: ClusterClientContext, messages: EgressMessages, keep_alive_interval_s: float
    ) -> AsyncAeronCluster:
        client = await wait_once(aeron, AeronCluster.async_connect(context))
        return cls(aeron, client, messages, keep_alive_interval_s)

    def _poll(self) -> None:
        client, now = self._client, self._aeron._loop.time()
        client.controlled_poll_egress()
        if not client.is_closed and now >= self._next_keep_alive and client.send_keep_alive():
            self._next_keep_alive = now + self._keep_alive_interval_s

    def _images(self) -> Iterable[Image]:
        return self._client.egress_subscription.images

    def _close_client(self) -> None:
        self._client.close()

    def _reason(self) -> BaseException | None:
        return self._client.close_reason

    async def _ask_for_snapshot(self, correlation_id: int) -> AdminResponse:
        answers = self._messages.answers
        self._senders += 1
        try:
            self._raise_failure()
            while not self._client.send_admin_request_to_take_a_snapshot(correlation_id):
                await self._changes.wait()
                self._raise_failure()
            answers[correlation_id] = None
            while (answer := answers[correlation_id]) is None:
                await self._changes.wait()
                self._raise_failure()
            return answer
        finally:
            self._senders -= 1
            answers.pop(correlation_id, None)
