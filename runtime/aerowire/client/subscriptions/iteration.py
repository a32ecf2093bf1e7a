"""A subscription as a stream of messages to loop over: copies, or views of where they lie.

Messages of several fragments are put together. A message counts as read when the loop gets it, so that what a loop leaves is there for the
next one. Knows polls and blocks; nothing of logs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from aerowire.base import arguments
from aerowire.base.errors import ClosedError
from aerowire.client.subscriptions.assembler import FragmentAssembler
from aerowire.codecs.flyweights.transport import MAX_MESSAGE_LENGTH, DataFlags, DataHeaderDecoder

if TYPE_CHECKING:
    from aerowire.client.subscriptions.block import Block
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription

# Polls without a message before the thread begins to sleep, and how long it sleeps: what a publisher that is running leaves between two.
SPINS = 100
SLEEP_MIN_NS = 10_000
SLEEP_MAX_NS = 1_000_000

# Fragments without a message between them that are taken after the time is up, because a message may be among them that is there already.
# The longest message has no more where frames carry 256 bytes or more.
FRAGMENTS_MAX = 65_536

# How many of them are taken between two looks at the time.
FRAGMENTS_PER_LOOK = 64

# Bytes of log that a loop over views borrows at a time: what the publisher waits for while the loop's body is slow.
BLOCK_LENGTH = 65536

HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH
# Plain numbers: an operation on flags of the enumeration takes longer than all the rest of a message.
_UNFRAGMENTED, _BEGIN, _END = int(DataFlags.UNFRAGMENTED), int(DataFlags.BEGIN), int(DataFlags.END)


class _Waiter:
    """Idles between polls that found nothing, until no message has come for the timeout."""

    def __init__(self, subscription: Subscription, timeout: int | str | None) -> None:
        self._subscription = subscription
        self._waiting = subscription._waiting
        self._timeout_ns = None if timeout is None else arguments.duration_ns("timeout_ns", timeout)
        self.start_over()

    def start_over(self) -> None:
        self._deadline_ns = None if self._timeout_ns is None else self._waiting.now_ns() + self._timeout_ns
        self._tries, self._sleep_ns = 0, SLEEP_MIN_NS
        self._fragments = 0

    def is_over(self, fragments: int) -> bool:
        """Idle, unless a poll has found fragments; return whether the time is up."""
        self._fragments += fragments
        if fragments and self._fragments < FRAGMENTS_MAX:
            return False  # a caller that takes what is there gets all of it, whatever the timeout
        if self._deadline_ns is not None and self._waiting.now_ns() >= self._deadline_ns:
            return True
        if fragments:
            return False
        self._subscription._wait_for_driver()
        self._tries += 1
        if self._tries > SPINS:
            self._waiting.sleep(self._sleep_ns)
            self._sleep_ns = min(self._sleep_ns * 2, SLEEP_MAX_NS)
        return False


class MessageReader:
    """What a subscription's loops share: messages of which some fragments have come. One loop at a time."""

    def __init__(self) -> None:
        self._complete: deque[bytes] = deque()
        self._assembler = FragmentAssembler(self._on_message)
        self._parts: dict[int, tuple[int, bytearray]] = {}
        self._images: tuple[Image, ...] = ()

    def messages(self, subscription: Subscription, timeout: int | str | None) -> Iterator[bytes]:
        """Yield messages as bytes until none has come for the timeout, or the subscription is closed."""
        waiter = _Waiter(subscription, timeout)
        fragments = 0
        while not _has_ended(subscription):
            try:
                count = subscription.poll(self._assembler, 1)
            except ClosedError:
                continue  # by another thread since the look
            if self._complete:
                yield self._complete.popleft()
                waiter.start_over()
                continue
            fragments += count
            if not count or fragments >= FRAGMENTS_PER_LOOK:
                self._forget_gone(subscription)
                if waiter.is_over(fragments if count else 0):
                    return
                fragments = 0

    def views(self, subscription: Subscription, timeout: int | str | None) -> Iterator[memoryview]:
        """Yield messages as views, each valid until the next is asked for; otherwise as `messages`."""
        waiter = _Waiter(subscription, timeout)
        while not _has_ended(subscription):
            try:
                lent = subscription.poll_block(BLOCK_LENGTH)
            except ClosedError:
                continue  # by another thread since the look
            with lent as block:
                is_fruitful, fragments = yield from self._views_of(block)
            if is_fruitful:
                waiter.start_over()
            else:
                self._forget_gone(subscription)
                if waiter.is_over(fragments):
                    return

    def _views_of(self, block: Block) -> Generator[memoryview, None, tuple[bool, int]]:
        """Yield the messages of a block; return whether there were any, and how many fragments made none."""
        is_fruitful = False
        offset = fragments = 0
        try:
            while offset < block.length:
                payload, flags, term_offset, offset = block._frame_at(offset)
                if flags & _UNFRAGMENTED == _UNFRAGMENTED:
                    is_fruitful = True
                    yield payload
                    continue
                whole = self._assemble(block.session_id, term_offset, flags, payload)
                if whole is None:
                    fragments += 1
                else:
                    is_fruitful = True
                    yield whole
        finally:
            block.release(offset)
        return is_fruitful, fragments

    def _forget_gone(self, subscription: Subscription) -> None:
        """Free what was collected of messages whose images have ended: their rest does not come any more."""
        images = subscription.images
        if images is not self._images:
            self._images = images
            sessions = {image.session_id for image in images}
            self._assembler._retain(sessions)
            self._parts = {session_id: part for session_id, part in self._parts.items() if session_id in sessions}

    def _assemble(self, session_id: int, term_offset: int, flags: int, payload: memoryview) -> memoryview | None:
        next_offset = _aligned(term_offset + HEADER_LENGTH + len(payload))
        if flags & _BEGIN:
            self._parts[session_id] = (next_offset, bytearray(payload))
            return None
        expected, message = self._parts.pop(session_id, (-1, bytearray()))
        if expected != term_offset or len(message) + len(payload) > MAX_MESSAGE_LENGTH:
            return None
        message += payload
        if flags & _END:
            return memoryview(message).toreadonly()
        self._parts[session_id] = (next_offset, message)
        return None

    def _on_message(self, _buffer: memoryview, _offset: int, _length: int, header: Header) -> None:
        self._complete.append(header.payload())


def _has_ended(subscription: Subscription) -> bool:
    """Return whether the subscription was closed; raises what ended its client."""
    if not subscription.is_closed:
        return False
    try:
        subscription._ensure_open()
    except ClosedError:
        return True
    return True


def _aligned(length: int) -> int:
    return length + -length % HEADER_LENGTH
