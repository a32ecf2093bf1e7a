"""The client of a cluster in an event loop. Only this module knows clusters here.

from aerowire import aio
from aerowire.aio.cluster import connect_cluster

async with aio.connect() as aeron, connect_cluster(aeron, ingress_channel=..., ingress_endpoints=..., egress_channel=...) as cluster:
    await cluster.send(b"an order")
    async for message in cluster:
        print(message.payload)
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from aerowire.aio.arrivals import LOOK_AGAIN_S, Arrivals
from aerowire.aio.handle import time_limit_s, within
from aerowire.aio.opening import Opening
from aerowire.aio.waiting import Waiters
from aerowire.base import arguments
from aerowire.base.errors import ClosedError, ClusterError, ClusterTimeoutError, ConfigurationError
from aerowire.client.publications.publication import ADMIN_ACTION
from aerowire.client.subscriptions.actions import Action
from aerowire.cluster.client.aeron_cluster import AeronCluster
from aerowire.cluster.client.context import ClusterClientContext
from aerowire.cluster.client.listeners import ControlledEgressListener, EventListener
from aerowire.codecs.flyweights.cluster.enums import AdminResponseCode

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.aio.client import AsyncAeron
    from aerowire.client.subscriptions.header import Header
    from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse
    from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent
    from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent

# Messages that are read and not asked for yet. More stay in the stream, whose window then holds up the cluster's egress.
MESSAGES_MAX = 256
# The longest sleep between two looks at the session while nobody waits for room or a leader.
IDLE_LOOK_S = 20e-3
# Well below a cluster's session timeout, which is 10 s unless it is configured otherwise.
KEEP_ALIVE_INTERVAL_S = 1.0


class ClusterMessage(NamedTuple):
    """A message of a service, and the cluster's time at which it was sent."""

    payload: bytes
    timestamp: int


def connect_cluster(
    aeron: AsyncAeron,
    context: ClusterClientContext | None = None,
    *,
    event_listener: EventListener | None = None,
    keep_alive_interval_s: float = KEEP_ALIVE_INTERVAL_S,
    **options: object,
) -> Opening[AsyncAeronCluster]:
    """Connect to a cluster by a client of the loop: `async with connect_cluster(...) as cluster`, or await it.

    Arguments and errors as `AeronCluster.connect`, whose listeners of the egress are none here: the result gives the messages, and
    `event_listener` is told events, in the loop. The session is kept alive each `keep_alive_interval_s`. Cancelled, it leaves nothing open.
    """
    arguments.instance("event_listener", event_listener, EventListener, "an EventListener")
    interval_s = arguments.seconds("keep_alive_interval_s", keep_alive_interval_s)
    chosen = ClusterClientContext.chosen(context, options)
    for name in ("aeron", "egress_listener", "controlled_egress_listener"):
        if getattr(chosen, name) is not None:
            raise ConfigurationError(
                "a client of an event loop has the loop's client of the driver, and gives messages to those that wait for them",
                where="connect_cluster",
                expected=f"no option {name!r}",
            )
    egress = _Egress(event_listener)
    looped = ClusterClientContext(**{**vars(chosen), "aeron": aeron.client, "controlled_egress_listener": egress})
    return Opening(lambda: AsyncAeronCluster._connect(aeron, looped, egress, interval_s))


class AsyncAeronCluster:
    """A session with a cluster, of one event loop. From `connect_cluster`; an asynchronous context manager.

    An asynchronous iterator of the messages of services, which ends when it is closed here, and raises why the session has ended otherwise.
    Several tasks may iterate and send; each message goes to one of them. A task of its own polls, follows leaders and keeps the session
    alive. Belongs to the loop's thread.
    """

    def __init__(self, aeron: AsyncAeron, client: AeronCluster, egress: _Egress, keep_alive_interval_s: float) -> None:
        self._aeron = aeron
        self._client = client
        self._egress = egress
        self._keep_alive_interval_s = keep_alive_interval_s
        self._arrivals = Arrivals(aeron)
        self._changes = Waiters(aeron._loop)
        self._senders = 0  # that wait for room or a leader
        self._failure: BaseException | None = None
        self._task = aeron._loop.create_task(self._run())

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
        return await within(time_limit_s(timeout_s), self._send(message), lambda: self._not_sent(timeout_s))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ClusterMessage:
        messages = self._egress.messages
        while not messages:
            if self._client.is_closed or self._failure is not None:
                self._raise_failure()
                raise StopAsyncIteration
            await self._changes.wait()
        was_full = self._egress.is_full
        message = messages.popleft()
        if was_full:
            self._arrivals.wake()
        return message

    async def receive(self) -> ClusterMessage:
        """Wait for the next message and return it. Raises ClosedError when closed here, ClusterError when the session has ended."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise ClosedError("the client of the cluster is closed", where=self._client, expected="an open one") from None

    async def take_snapshot(self, *, timeout_s: float | None = None) -> None:
        """Ask the cluster for a snapshot, and wait until it has taken the request. Raises ClusterError when it refuses."""
        correlation_id = self._aeron.client.next_correlation_id()
        answer = await within(time_limit_s(timeout_s), self._ask_for_snapshot(correlation_id), lambda: self._not_sent(timeout_s))
        if answer.response_code != AdminResponseCode.OK:
            raise ClusterError(
                f"the cluster refused to take a snapshot: {answer.message}", where=self._client, actual=answer.response_code.name
            )

    async def closed(self) -> None:
        """Wait for the end of the session: return when it was closed here, raise why it has ended otherwise."""
        while not self._client.is_closed and self._failure is None:
            await self._changes.wait()
        self._raise_failure()

    async def close(self) -> None:
        """Close the session. A second call does nothing."""
        self._client.close()
        self._arrivals.close()
        self._changes.wake()
        await asyncio.wait([self._task])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncAeronCluster({self._client!r})"

    # ---- below: helpers

    @classmethod
    async def _connect(
        cls, aeron: AsyncAeron, context: ClusterClientContext, egress: _Egress, keep_alive_interval_s: float
    ) -> AsyncAeronCluster:
        arrivals = Arrivals(aeron)
        try:
            client = await arrivals.wait(AeronCluster.async_connect(context))
        finally:
            arrivals.close()
        return cls(aeron, client, egress, keep_alive_interval_s)

    async def _run(self) -> None:
        client, loop = self._client, self._aeron._loop
        next_keep_alive = loop.time() + self._keep_alive_interval_s
        try:
            while not client.is_closed:
                client.controlled_poll_egress()
                if not client.is_closed and loop.time() >= next_keep_alive and client.send_keep_alive():
                    next_keep_alive = loop.time() + self._keep_alive_interval_s
                self._changes.wake()
                # A full queue would find the same message again at once: its reader wakes the task.
                images = () if self._egress.is_full else client.egress_subscription.images
                await self._arrivals.come(images, LOOK_AGAIN_S if self._senders else IDLE_LOOK_S)
        except Exception as error:
            self._failure = error
            client.close()
        finally:
            self._changes.wake()

    async def _send(self, message: Buffer) -> int:
        self._senders += 1
        try:
            while True:
                self._raise_failure()
                result = self._client.offer(message)
                if result > 0:
                    return result
                if result == ADMIN_ACTION:
                    await asyncio.sleep(0)
                else:
                    await self._changes.wait()
        finally:
            self._senders -= 1

    async def _ask_for_snapshot(self, correlation_id: int) -> AdminResponse:
        answers = self._egress.answers
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

    def _raise_failure(self) -> None:
        """Raise why the session has ended, if it was not closed here."""
        reason = self._failure or self._client.close_reason
        if reason is not None:
            raise reason

    def _not_sent(self, timeout_s: float | None) -> ClusterTimeoutError:
        return ClusterTimeoutError(
            "no room in the ingress, no leader, or no answer",
            where=self._client,
            expected=f"it within {timeout_s} s",
            actual=f"the client is {self._client.state.value}",
        )


class _Egress(ControlledEgressListener):
    """Keeps messages for the tasks that wait for them; tells events on."""

    def __init__(self, events: EventListener | None) -> None:
        self.messages: deque[ClusterMessage] = deque()
        self.answers: dict[int, AdminResponse | None] = {}
        self._events = events

    @property
    def is_full(self) -> bool:
        return len(self.messages) >= MESSAGES_MAX

    def on_message(self, _session_id: int, timestamp: int, buffer: memoryview, offset: int, length: int, _header: Header, /) -> Action:
        if self.is_full:
            return Action.ABORT
        self.messages.append(ClusterMessage(bytes(buffer[offset : offset + length]), timestamp))
        return Action.COMMIT

    def on_session_event(self, event: SessionEvent, /) -> None:
        if self._events is not None:
            self._events.on_session_event(event)

    def on_new_leader(self, event: NewLeaderEvent, /) -> None:
        if self._events is not None:
            self._events.on_new_leader(event)

    def on_admin_response(self, response: AdminResponse, /) -> None:
        if response.correlation_id in self.answers:
            self.answers[response.correlation_id] = response
        if self._events is not None:
            self._events.on_admin_response(response)
