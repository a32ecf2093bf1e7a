"""Applications of a scenario: publishers of messages that say what they are, and subscribers that check them."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from aerowire.base.units import INT64_MAX
from aerowire.client import FragmentAssembler
from aerowire.simulation.scenarios.application import Application
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import SECOND, Medium, StreamPlan
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.client import BufferClaim, ExclusivePublication, Header, Image, Publication, Subscription
    from aerowire.simulation.host import SimulatedHost

STREAM_ID = 1001  # of the first stream
# Stream, incarnation of its publisher, number of the message; then a checksum of these and of the filling behind it.
_NAMES = struct.Struct("<IIQ")
_CHECK = struct.Struct("<I")
HEAD_LENGTH = _NAMES.size + _CHECK.size
_FRAGMENTS = 64
_RETRY_NS = 5_000_000
_FILLING = bytes(range(256)) * 64
_PORT = 40_000


def address_of(host: int) -> str:
    return f"10.0.0.{host + 1}"


def channel_of(stream: StreamPlan, subscriber: int | None = None) -> str:
    """Return the channel of a stream's publisher, or of one of its subscribers."""
    port = _PORT + stream.number
    if stream.medium is Medium.IPC:
        return "aeron:ipc"
    if stream.medium is Medium.UDP:
        return f"aeron:udp?endpoint={address_of(stream.subscribers[0])}:{port}"
    if stream.medium is Medium.GROUP:
        return f"aeron:udp?endpoint=224.20.30.{2 * stream.number + 1}:{port}|interface=10.0.0.0/24"
    control = f"control={address_of(stream.publisher)}:{port}|control-mode=dynamic"
    return f"aeron:udp?{control}" if subscriber is None else f"aeron:udp?endpoint={address_of(subscriber)}:{port + 1000}|{control}"


def encode(stream: int, incarnation: int, number: int, length: int) -> bytes:
    """Return a message of `length` bytes at least those of its head; its filling follows from its number."""
    names = _NAMES.pack(stream, incarnation, number)
    start = number % 256
    filling = _FILLING[start : start + max(0, length - HEAD_LENGTH)]
    return names + _CHECK.pack(zlib.crc32(filling, zlib.crc32(names))) + filling


def decode(message: bytes) -> tuple[int, int, int] | None:
    """Return stream, incarnation and number of a message, None where it is not as it was sent."""
    if len(message) < HEAD_LENGTH:
        return None
    names, filling = message[: _NAMES.size], message[HEAD_LENGTH:]
    if _CHECK.unpack_from(message, _NAMES.size)[0] != zlib.crc32(filling, zlib.crc32(names)):
        return None
    stream, incarnation, number = _NAMES.unpack(names)
    return stream, incarnation, number


@dataclass(slots=True)
class PublisherLife:
    """What is known of a publisher, after its end as well: `is_closed` where that was in good order."""

    incarnation: int
    sent: int = 0
    is_closed: bool = False


class Publisher(Application):
    """Sends messages of a stream at its rate, each until it is taken: offers them, or holds a claim for each before it commits it."""

    def __init__(self, host: SimulatedHost, stream: StreamPlan, life: PublisherLife, seed: int, may_end: Callable[[], bool]) -> None:
        """`life` outlives it. `may_end` says whether it ends after as many messages as the stream's plan has."""
        self.stream = stream
        self.life = life
        self._may_end = may_end
        self._draws = Draws(f"lengths of {stream.number}, {life.incarnation}", seed)
        self._interval_ns = SECOND // stream.rate
        self._due_ns = host.clock.now_ns()
        self._publication: ExclusivePublication | Publication | None = None
        self._next: bytes | None = None
        self._claim: BufferClaim | None = None
        super().__init__(host, f"publisher {life.incarnation} of stream {stream.number}")

    @property
    def is_connected(self) -> bool:
        return self._publication is not None and not self._publication.is_closed and self._publication.is_connected

    def close(self) -> None:
        if not self.has_ended:
            if self._claim is not None:
                self._claim.abort()
                self._claim = None
            self.life.is_closed = True
        super().close()

    def next_deadline_ns(self) -> int:
        return self._due_ns

    def work(self) -> int:
        now_ns = self.host.clock.now_ns()
        if self.pending is None:
            if now_ns < self._due_ns:
                return 0
            channel, stream_id = channel_of(self.stream), STREAM_ID + self.stream.number
            aeron = self.client.aeron
            # The driver unblocks claims of publications that are not exclusive.
            add = aeron.async_add_publication if self.stream.hold_ns else aeron.async_add_exclusive_publication
            self.pending = add(channel, stream_id)
            return 1
        if self._publication is None:
            self._publication = self.take_answer()
        if self._publication is None:
            self._due_ns = now_ns + _RETRY_NS
            return 0
        return self._send_due(self._publication, now_ns)

    def _send_due(self, publication: ExclusivePublication | Publication, now_ns: int) -> int:
        done = 0
        while self._due_ns <= now_ns and not publication.is_closed:
            if self._next is None:
                length = self._draws.whole(1, self.stream.length_max)
                if self.stream.hold_ns:
                    length = min(length, publication.max_payload_length)
                self._next = encode(self.stream.number, self.life.incarnation, self.life.sent, length)
            if self.stream.hold_ns and self._claim is None:
                claim = publication.try_claim(len(self._next))
                if not claim:
                    self._due_ns = now_ns + _RETRY_NS
                    break
                claim.put_bytes(self._next)
                self._claim = claim
                self._due_ns = now_ns + self._draws.whole(1, self.stream.hold_ns)
            elif self._claim is not None:
                self._claim.commit()
                self._claim = None
                self._on_sent(now_ns + self._interval_ns)
            elif publication.offer(self._next) > 0:
                self._on_sent(self._due_ns + self._interval_ns)
            else:
                self._due_ns = now_ns + _RETRY_NS
                break
            done += 1
        return done

    def _on_sent(self, next_ns: int) -> None:
        self._next = None
        self._due_ns = next_ns
        self.life.sent += 1
        if 0 < self.stream.ends_after <= self.life.sent and self._may_end():
            self.close()

    def state(self) -> str:
        publication = self._publication
        if publication is None or publication.is_closed:
            return "a publication"
        is_connected = "connected" if publication.is_connected else "not connected"
        return f"{is_connected}, {self.life.sent} sent, at {publication.position} of {publication.position_limit}"


class Listener(Protocol):
    """Takes the messages of subscribers and the ends of their images; `number` is that of the last message of publisher `incarnation`."""

    def on_message(self, subscriber: Subscriber, message: bytes) -> None:
        """A message has come, contiguous and unchanged."""

    def on_end_of_stream(self, subscriber: Subscriber, incarnation: int, number: int) -> None:
        """An image has nothing more of a publisher."""

    def on_image_gone(self, subscriber: Subscriber, incarnation: int, number: int) -> None:
        """An image has gone."""


class Subscriber(Application):
    """Checks that what each image brings is contiguous, in order and unchanged, and that an image which has gone brings nothing."""

    def __init__(self, host: SimulatedHost, stream: StreamPlan, number: int, listener: Listener) -> None:
        """`number` is its place among the stream's subscribers."""
        self.stream = stream
        self.number = number
        self.received = 0
        self._listener = listener
        self._poll_ns = stream.poll_ns[number] if stream.poll_ns else 0
        self._due_ns = INT64_MAX  # the end of a pause
        self._subscription: Subscription | None = None
        self._last: dict[int, tuple[int, int]] = {}  # incarnation and number of the last message, by image
        self._last_of: dict[int, int] = {}  # number of the last message, by incarnation
        self._assemblers: dict[int, FragmentAssembler] = {}
        self._ended: set[int] = set()
        self._gone: set[int] = set()
        self._going: list[int] = []
        super().__init__(host, f"subscriber {number} of stream {stream.number}")

    @property
    def is_connected(self) -> bool:
        return self._subscription is not None and self._subscription.is_connected

    def last_of(self, incarnation: int) -> int | None:
        """Return the number of the last message that has come from a publisher, None where none has."""
        return self._last_of.get(incarnation)

    def next_deadline_ns(self) -> int:
        return self._due_ns

    def work(self) -> int:
        is_paused = self._due_ns != INT64_MAX and self.host.clock.now_ns() < self._due_ns
        if self.pending is None:
            if is_paused:
                return 0
            channel = channel_of(self.stream, self.stream.subscribers[self.number])
            self.pending = self.client.aeron.async_add_subscription(
                channel, STREAM_ID + self.stream.number, unavailable_image_handler=self._on_unavailable
            )
            return 1
        if self._subscription is None:
            self._subscription = self.take_answer()
        if self._subscription is None or self._subscription.is_closed:
            self._due_ns = INT64_MAX if self.pending is not None else self.host.clock.now_ns() + _RETRY_NS
            return 0
        while self._going:
            image_id = self._going.pop()
            self._gone.add(image_id)
            if image_id in self._last:
                self._listener.on_image_gone(self, *self._last[image_id])
        if is_paused:
            return 0
        done = sum(self._poll(image) for image in self._subscription.images)
        self._due_ns = self.host.clock.now_ns() + self._poll_ns if self._poll_ns and done else INT64_MAX
        return done

    def _on_unavailable(self, image: Image) -> None:
        self._going.append(image.correlation_id)

    def _poll(self, image: Image) -> int:
        image_id = image.correlation_id
        if image_id in self._gone:
            raise ViolationError("an image that has gone does not come back", "another image", f"image {image_id}", self._where(image))
        if (assembler := self._assemblers.get(image_id)) is None:
            assembler = self._assemblers[image_id] = FragmentAssembler(partial(self._on_fragment, image))
        done = image.poll(assembler, _FRAGMENTS)
        if image.is_end_of_stream and image_id not in self._ended:
            self._ended.add(image_id)
            if image_id in self._last:
                self._listener.on_end_of_stream(self, *self._last[image_id])
        return done

    def _on_fragment(self, image: Image, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        self._check(image, bytes(buffer[offset : offset + length]))

    def _check(self, image: Image, message: bytes) -> None:
        found = decode(message)
        if found is None or found[0] != self.stream.number:
            expected = f"a message of stream {self.stream.number}"
            raise ViolationError("messages arrive unchanged", expected, f"{message[:40].hex()}", self._where(image))
        _, incarnation, number = found
        last = self._last.get(image.correlation_id)
        if last is not None and self.stream.hold_ns and incarnation > last[0] and number == 0:
            # The publication was taken over before it had ended, as any that is not exclusive.
            self._listener.on_end_of_stream(self, *last)
        elif last is not None and (incarnation, number) != (last[0], last[1] + 1):
            expected = f"message {last[1] + 1} of publisher {last[0]}"
            saw = f"message {number} of publisher {incarnation}"
            raise ViolationError("messages arrive contiguous and in order", expected, saw, self._where(image))
        self._last[image.correlation_id] = incarnation, number
        self._last_of[incarnation] = number
        self.received += 1
        self._listener.on_message(self, message)

    def _where(self, image: Image) -> str:
        return f"stream {self.stream.number} at {self.host.address}, session {image.session_id}"

    def state(self) -> str:
        images = () if self._subscription is None else self._subscription.images
        positions = ", ".join(f"{image.session_id} at {image.position}" for image in images)
        return f"{self.received} received, images: {positions or 'none'}"
