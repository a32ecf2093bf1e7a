"""Messages of a cluster in an event loop: a bounded queue that tasks iterate over; more messages stay in the stream."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from aerowire.aio.arrivals import LOOK_AGAIN_S, Arrivals
from aerowire.aio.waiting import Waiters
from aerowire.base import arguments
from aerowire.base.errors import ClosedError, ClusterTimeoutError
from aerowire.client.publications.publication import ADMIN_ACTION
from aerowire.client.subscriptions.actions import Action
from aerowire.cluster.client.listeners import ControlledEgressListener, EventListener

if TYPE_CHECKING:
    from aerowire.aio.client import AsyncAeron
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image
    from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse
    from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent
    from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent

# Messages that are read and not taken yet. More stay in the stream, whose window then holds up the cluster's egress.
MESSAGES_MAX = 256
# The longest sleep between two polls of the session while no task waits for room, a leader or an answer.
IDLE_LOOK_S = 20e-3


class ClusterMessage(NamedTuple):
    """A message of a service, and the cluster's time at which it was sent."""

    payload: bytes
    timestamp: int


class EgressMessages(ControlledEgressListener):
    """Keeps messages for tasks that iterate, and answers for tasks that have sent admin requests; passes events on."""

    def __init__(self, events: EventListener | None) -> None:
        arguments.instance("event_listener", events, EventListener, "an EventListener")
        self.kept: deque[ClusterMessage] = deque()
        self.answers: dict[int, AdminResponse | None] = {}
        self._events = EventListener() if events is None else events

    @property
    def is_full(self) -> bool:
        """Whether the next message has to stay in the stream."""
        return len(self.kept) >= MESSAGES_MAX

    def on_message(self, _session_id: int, timestamp: int, buffer: memoryview, offset: int, length: int, _header: Header, /) -> Action:
        if self.is_full:
            return Action.ABORT
        self.kept.append(ClusterMessage(bytes(buffer[offset : offset + length]), timestamp))
        return Action.COMMIT

    def on_session_event(self, event: SessionEvent, /) -> None:
        self._events.on_session_event(event)

    def on_new_leader(self, event: NewLeaderEvent, /) -> None:
        self._events.on_new_leader(event)

    def on_admin_response(self, response: AdminResponse, /) -> None:
        if response.correlation_id in self.answers:
            self.answers[response.correlation_id] = response
        self._events.on_admin_response(response)


class AsyncEgress(ABC):
    """Base of the clients of a cluster in an event loop: the messages, and the task that polls.

    An asynchronous iterator of messages that ends after `close`, and raises the error after any other end. Several tasks may iterate; each
    message goes to one of them. Belongs to the loop's thread.
    """

    def __init__(self, aeron: AsyncAeron, messages: EgressMessages) -> None:
        self._aeron = aeron
        self._messages = messages
        self._arrivals = Arrivals(aeron)
        self._changes = Waiters(aeron._loop)
        self._senders = 0  # tasks that wait for room, a leader or an answer
        self._failure: BaseException | None = None
        self._task = aeron._loop.create_task(self._run())

    @property
    @abstractmethod
    def is_closed(self) -> bool:
        """Whether it has ended."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ClusterMessage:
        messages = self._messages
        while not messages.kept:
            if self.is_closed or self._failure is not None:
                self._raise_failure()
                raise StopAsyncIteration
            await self._changes.wait()
        was_full = messages.is_full
        message = messages.kept.popleft()
        if was_full:
            self._arrivals.wake()
        return message

    async def receive(self) -> ClusterMessage:
        """Wait for the next message and return it. Raises ClosedError after `close`, and the error after any other end."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise ClosedError("the client of the cluster is closed", where=self, expected="an open one") from None

    async def closed(self) -> None:
        """Wait for the end: return after `close`, raise the error after any other end."""
        while not self.is_closed and self._failure is None:
            await self._changes.wait()
        self._raise_failure()

    async def close(self) -> None:
        """Close it. A second call does nothing."""
        self._close_client()
        self._arrivals.close()
        self._changes.wake()
        await asyncio.wait([self._task])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self.close()

    # ---- below: for those that derive from it

    @abstractmethod
    def _poll(self) -> None:
        """Poll the client once."""

    @abstractmethod
    def _images(self) -> Iterable[Image]:
        """Return the images in which the client's messages come."""

    @abstractmethod
    def _close_client(self) -> None:
        """Close the client."""

    @abstractmethod
    def _reason(self) -> BaseException | None:
        """Return why the client has ended; None while it has not, or was closed here."""

    def _raise_failure(self) -> None:
        reason = self._failure or self._reason()
        if reason is not None:
            raise reason

    async def _until_sent(self, offer: Callable[[], int]) -> int:
        """Offer until there is room and a leader; return the position."""
        self._senders += 1
        try:
            while True:
                self._raise_failure()
                result = offer()
                if result > 0:
                    return result
                if result == ADMIN_ACTION:
                    await asyncio.sleep(0)
                else:
                    await self._changes.wait()
        finally:
            self._senders -= 1

    def _too_late(self, timeout_s: float | None) -> ClusterTimeoutError:
        return ClusterTimeoutError("no room in the ingress, no leader, or no answer", where=self, expected=f"it within {timeout_s} s")

    async def _run(self) -> None:
        try:
            while not self.is_closed:
                self._poll()
                self._changes.wake()
                # A full queue would find the same message again at once: its reader wakes the task.
                images = () if self._messages.is_full else self._images()
                await self._arrivals.come(images, LOOK_AGAIN_S if self._senders else IDLE_LOOK_S)
        except Exception as error:
            self._failure = error
            self._close_client()
        finally:
            self._changes.wake()
