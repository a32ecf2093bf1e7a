"""Sending from an event loop: a send that waits for its subscriber and for room, and gives up in time.

Who sends goes in turn: a task that has to wait for room is not overtaken by one that comes later. Knows nothing of shared memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from aerowire.aio.handle import AsyncHandle, time_limit_s, within
from aerowire.aio.handles import watch_connection, watch_window
from aerowire.base.errors import AerowireError, BackPressureError, MaxPositionExceededError, NotConnectedError
from aerowire.client.publications.blocking_send import require_batch
from aerowire.client.publications.publication import ADMIN_ACTION, BACK_PRESSURED, MAX_POSITION_EXCEEDED, NOT_CONNECTED

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Buffer

    from aerowire.aio.client import AsyncAeron
    from aerowire.client.publications.claim import BufferClaim
    from aerowire.client.publications.publication import ExclusivePublication, Publication

    Messages: TypeAlias = Sequence[Buffer] | Buffer | numpy.ndarray[Any, Any]

# Sends that find room one after the other let the loop do something else after this many: some 20 us of work.
SENDS_IN_A_ROW = 64
# Of a batch that is sent in one go; more would keep the loop for longer than a send of its turn.
BATCH_MESSAGES = 1024


class _AsyncPublicationBase(AsyncHandle):
    _handle: Publication | ExclusivePublication

    def __init__(self, aeron: AsyncAeron, handle: Publication | ExclusivePublication) -> None:
        super().__init__(aeron, handle)
        self._turn = asyncio.Lock()
        self._senders = 0
        self._sends_in_a_row = 0
        self._window_watch = self._add_watch(self._wake)
        self._connection_watch = self._add_watch(self._wake)
        self._is_awaited_connected = True

    # ---- sending

    async def send(self, message: Buffer, *, reserved_value: int | None = None, timeout_s: float | None = None) -> int:
        """Send a message, waiting for a subscriber and for room; return the stream position after it.

        `timeout_s` is how long to wait (None: for ever, or until the task is cancelled). A message is either sent, and then its position is
        returned, or it is not, and then the call raises; that holds for a cancelled task too.

        Raises NotConnectedError without a subscriber in time, BackPressureError without room in time, MessageTooLongError,
        MaxPositionExceededError at the end of the stream, PublicationClosedError, and once the client has ended the error that ended it.
        """
        self._sends_in_a_row += 1
        if self._senders == 0 and self._sends_in_a_row <= SENDS_IN_A_ROW:
            result = self._handle.offer(message, 0, None, reserved_value)
            if result >= 0:
                return result
        return await self._send_in_turn(message, reserved_value, timeout_s)

    async def send_many(self, messages: Messages, *, timeout_s: float | None = None) -> None:
        """Send all of a batch in order, in as few calls as there is room for. Arguments as `offer_many`, waits and errors as `send`.

        Other tasks' sends wait for its end. When it raises, or is cancelled, the first messages of the batch have been sent, and
        `position` shows how far.
        """
        limit_s = time_limit_s(timeout_s)
        start = self._handle.position
        self._senders += 1
        try:
            await within(limit_s, self._send_rest(messages, limit_s), lambda: self._refusal(limit_s, start))
        finally:
            self._senders -= 1

    def offer(self, message: Buffer, offset: int = 0, length: int | None = None, reserved_value: int | None = None) -> int:
        """Send now or not at all: a position, or a negative reason. As the client's publication."""
        return self._handle.offer(message, offset, length, reserved_value)

    def offer_many(self, messages: Messages) -> int:
        """Send what there is room for now; how many, or a negative reason. As the client's publication."""
        return self._handle.offer_many(messages)

    def try_claim(self, length: int) -> BufferClaim:
        """Claim room for a message to be written in place. As the client's publication."""
        return self._handle.try_claim(length)

    # ---- destinations

    async def add_destination(self, channel: str, *, timeout_s: float | None = None) -> int:
        """Add a destination to a channel of control-mode=manual; return its registration id. Raises RegistrationError."""
        return await self._aeron.wait(self._handle.async_add_destination(channel), timeout_s=timeout_s)

    async def remove_destination(self, destination: str | int, *, timeout_s: float | None = None) -> None:
        """Remove a destination by its channel or its registration id. Raises RegistrationError."""
        await self._aeron.wait(self._handle.async_remove_destination(destination), timeout_s=timeout_s)

    # ---- waiting

    async def connected(self, *, timeout_s: float | None = None) -> None:
        """Wait until there is a subscriber. Raises NotConnectedError when there is none in time, and what ended the publication."""
        limit_s = time_limit_s(timeout_s)
        await within(limit_s, self._wait_connection(wanted=True), lambda: self._refusal(limit_s))

    async def disconnected(self) -> None:
        """Wait until there is no subscriber any more."""
        await self._wait_connection(wanted=False)

    # ---- what it is

    @property
    def handle(self) -> Publication | ExclusivePublication:
        """The client's publication, with everything that does not wait."""
        return self._handle

    @property
    def channel(self) -> str:
        """Channel that it was added with."""
        return self._handle.channel

    @property
    def stream_id(self) -> int:
        """Stream that it sends to."""
        return self._handle.stream_id

    @property
    def session_id(self) -> int:
        """Session by which subscribers know it."""
        return self._handle.session_id

    @property
    def position(self) -> int:
        """Position at which the next message starts."""
        return self._handle.position

    @property
    def is_connected(self) -> bool:
        """Whether a subscriber has been seen lately."""
        return self._handle.is_connected

    @property
    def max_message_length(self) -> int:
        """Longest message in bytes."""
        return self._handle.max_message_length

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._handle!r})"

    # ---- below: helpers

    async def _send_in_turn(self, message: Buffer, reserved_value: int | None, timeout_s: float | None) -> int:
        limit_s = time_limit_s(timeout_s)
        self._senders += 1
        try:
            return await within(limit_s, self._send_waiting(message, reserved_value, limit_s), lambda: self._refusal(limit_s))
        finally:
            self._senders -= 1

    async def _send_waiting(self, message: Buffer, reserved_value: int | None, limit_s: float | None) -> int:
        async with self._turn:
            await self._give_way(limit_s)
            while True:
                result = self._handle.offer(message, 0, None, reserved_value)
                if result == ADMIN_ACTION:  # the term was turned over: again at once, also without time to wait
                    result = self._handle.offer(message, 0, None, reserved_value)
                if result >= 0:
                    return result
                await self._wait_for_room(result)

    async def _send_rest(self, messages: Messages, limit_s: float | None) -> None:
        async with self._turn:
            rest = _in_parts(messages, self._handle)
            while rest:
                self._sends_in_a_row += 1
                await self._give_way(limit_s)
                sent = self._handle.offer_many(rest[0])
                if sent < 0:
                    await self._wait_for_room(sent)
                elif sent < len(rest[0]):
                    rest[0] = rest[0][sent:]
                    await self._wait_for_room(ADMIN_ACTION)
                else:
                    del rest[0]
                    self._sends_in_a_row = SENDS_IN_A_ROW

    async def _give_way(self, limit_s: float | None) -> None:
        """Let the loop do something else after many sends in a row, if there is time for that.

        It holds the turn, so that no other task overtakes, and comes BEFORE the offer: a cancelled task has not sent it.
        """
        if self._sends_in_a_row > SENDS_IN_A_ROW and (limit_s is None or limit_s > 0):
            self._sends_in_a_row = 0
            await asyncio.sleep(0)

    async def _wait_for_room(self, result: int) -> None:
        """Wait for what stood in the way of an offer; raise what no waiting helps against."""
        if result == NOT_CONNECTED:
            await self._wait_connection(wanted=True)
            result = BACK_PRESSURED  # the window opens a moment after the connection
        if result == BACK_PRESSURED:
            if watch_window(self._aeron._watching.watcher, self._window_watch, self._handle):
                await self._changes.wait()
        elif result == ADMIN_ACTION:
            await asyncio.sleep(0)
        elif result == MAX_POSITION_EXCEEDED:
            raise MaxPositionExceededError(
                "the stream is at its last position",
                where=self._handle,
                expected=f"a position below {self._handle.max_possible_position}",
                actual=self._handle.position,
                hint="add another publication: its stream begins again; longer terms last longer",
            )
        self._handle._ensure_open()

    async def _wait_connection(self, *, wanted: bool) -> None:
        while self._handle.is_connected != wanted:
            self._handle._ensure_open()
            if self._is_awaited_connected != wanted:
                self._is_awaited_connected = wanted
                self._wake()  # who waited for the opposite has had it, and the watch is for this now
            if watch_connection(self._aeron._watching.watcher, self._connection_watch, self._handle, not wanted):
                await self._changes.wait()
        self._handle._ensure_open()

    def _refusal(self, timeout_s: float | None, start: int | None = None) -> AerowireError:
        """Return the error for a wait that took too long, by what stands in the way now."""
        sent = None if start is None else f"{self._handle.position - start} bytes of the batch were sent, with headers"
        if not self._handle.is_connected:
            return NotConnectedError(
                "no subscriber",
                where=self._handle,
                expected=f"one within {timeout_s} s",
                actual=sent,
                hint="is a subscription open on the same channel and stream?",
            )
        stands = f"position {self._handle.position} with a limit of {self._handle.position_limit}"
        return BackPressureError(
            "no room in the stream: the subscribers do not keep up",
            where=self._handle,
            expected=f"room within {timeout_s} s",
            actual=stands if sent is None else f"{stands}; {sent}",
            hint="read faster, or use a longer term-length; a subscriber that does not read holds the stream back until it is closed",
        )


class AsyncPublication(_AsyncPublicationBase):
    """A publication in an event loop. From `AsyncAeron.add_publication`; any task of the loop may send."""

    _handle: Publication


class AsyncExclusivePublication(_AsyncPublicationBase):
    """A publication with a session of its own in an event loop. From `AsyncAeron.add_exclusive_publication`; any task may send."""

    _handle: ExclusivePublication


def _in_parts(messages: Messages, where: object) -> list[Any]:
    """Return a batch as parts that are sent in one go each, none of them empty."""
    require_batch(messages, where)
    whole: Any = messages
    return [whole[start : start + BATCH_MESSAGES] for start in range(0, len(whole), BATCH_MESSAGES)]
