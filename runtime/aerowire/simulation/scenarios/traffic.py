"""Applications of a scenario: publishers of messages that say what they are, and subscribers that check them."""

from __future__ import annotations

import struct
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

from aerowire.base.units import INT64_MAX
from aerowire.client import FragmentAssembler
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import SECOND, Medium, StreamPlan
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.client import ExclusivePublication, Header, Image, Pending, Subscription
    from aerowire.simulation.host import SimulatedHost

STREAM_ID = 1001  # of the first stream
# Stream, incarnation of its publisher, number of the message; then a checksum of these and of the filling behind it.
_NAMES = struct.Struct("<IIQ")
_CHECK = struct.Struct("<I")
HEAD_LENGTH = _NAMES.size + _CHECK.size
_FRAGMENTS = 64
_RETRY_NS = 1_000_000
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


class Application:
    """A client process on a host, made anew after the last one has ended."""

    def __init__(self, host: SimulatedHost, stream: StreamPlan, **options: Any) -> None:
        self.stream = stream
        self.host = host
        self.client = host.connect(work=self._work, next_deadline_ns=self.next_deadline_ns, **options)
        self._pending: Pending[Any] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it can do nothing any more: its process has ended, or its client, or it never got one."""
        if self.client.has_ended:
            return True
        connecting = self.client.connecting
        return connecting.is_done and (not connecting.is_fulfilled or self.client.aeron.is_closed)

    def next_deadline_ns(self) -> int:
        """Return when there is something to do though nothing has come."""
        return INT64_MAX

    def what_it_waits_for(self) -> str:
        """Return what is known of its state, for people."""
        if self.client.has_ended:
            return "its process has ended"
        connecting = self.client.connecting
        if not connecting.is_fulfilled:
            return f"its driver: {connecting.problem}" if not connecting.is_done else "no driver: it has given up"
        if self.client.aeron.is_closed:
            return f"nothing: its client has ended ({self.client.errors[-1:]})"
        if self._pending is None or not self._pending.is_done:
            return "an answer of its driver"
        return self._state()

    def _work(self) -> int:
        raise NotImplementedError

    def _state(self) -> str:
        raise NotImplementedError


class Publisher(Application):
    """Offers messages of a stream at its rate, each until it is taken."""

    def __init__(self, host: SimulatedHost, stream: StreamPlan, incarnation: int, seed: int) -> None:
        self.incarnation = incarnation
        self.sent = 0
        self._lengths = Draws(f"lengths of {stream.number}, {incarnation}", seed)
        self._interval_ns = SECOND // stream.rate
        self._due_ns = host.clock.now_ns()
        self._publication: ExclusivePublication | None = None
        self._next: bytes | None = None
        super().__init__(host, stream)

    def next_deadline_ns(self) -> int:
        return self._due_ns

    def _work(self) -> int:
        if self._pending is None:
            self._pending = self.client.aeron.async_add_exclusive_publication(channel_of(self.stream), STREAM_ID + self.stream.number)
            return 1
        if self._publication is None:
            if not self._pending.poll():
                self._due_ns = self.host.clock.now_ns() + _RETRY_NS
                return 0
            self._publication = self._pending.result()
        now_ns = self.host.clock.now_ns()
        done = 0
        while self._due_ns <= now_ns and not self._publication.is_closed:
            if self._next is None:
                length = self._lengths.whole(1, self.stream.length_max)
                self._next = encode(self.stream.number, self.incarnation, self.sent, length)
            if self._publication.offer(self._next) <= 0:
                self._due_ns = now_ns + _RETRY_NS
                break
            self._next = None
            self.sent += 1
            self._due_ns += self._interval_ns
            done += 1
        return done

    def _state(self) -> str:
        publication = self._publication
        if publication is None or publication.is_closed:
            return "a publication"
        is_connected = "connected" if publication.is_connected else "not connected"
        return f"{is_connected}, {self.sent} sent, at {publication.position} of {publication.position_limit}"


class Subscriber(Application):
    """Checks that what each image brings is contiguous, in order and unchanged."""

    def __init__(self, host: SimulatedHost, stream: StreamPlan, number: int, on_message: Callable[[bytes], None]) -> None:
        self.received = 0
        self._number = number
        self._on_message = on_message
        self._subscription: Subscription | None = None
        self._last: dict[int, tuple[int, int]] = {}  # incarnation and number of the last message, by image
        self._assemblers: dict[int, FragmentAssembler] = {}
        super().__init__(host, stream)

    def _work(self) -> int:
        if self._pending is None:
            self._pending = self.client.aeron.async_add_subscription(channel_of(self.stream, self._number), STREAM_ID + self.stream.number)
            return 1
        if self._subscription is None:
            if not self._pending.poll():
                return 0
            self._subscription = self._pending.result()
        if self._subscription.is_closed:
            return 0
        return sum(self._poll(image) for image in self._subscription.images)

    def _poll(self, image: Image) -> int:
        if (assembler := self._assemblers.get(image.correlation_id)) is None:
            assembler = self._assemblers[image.correlation_id] = FragmentAssembler(partial(self._on_fragment, image))
        return image.poll(assembler, _FRAGMENTS)

    def _on_fragment(self, image: Image, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        self._check(image, bytes(buffer[offset : offset + length]))

    def _check(self, image: Image, message: bytes) -> None:
        where = f"stream {self.stream.number} at {self.host.address}, session {image.session_id}"
        found = decode(message)
        if found is None or found[0] != self.stream.number:
            raise ViolationError("messages arrive unchanged", f"a message of stream {self.stream.number}", f"{message[:40].hex()}", where)
        _, incarnation, number = found
        last = self._last.get(image.correlation_id)
        if last is not None and (incarnation, number) != (last[0], last[1] + 1):
            expected = f"message {last[1] + 1} of publisher {last[0]}"
            raise ViolationError("messages arrive contiguous and in order", expected, f"message {number} of publisher {incarnation}", where)
        self._last[image.correlation_id] = incarnation, number
        self.received += 1
        self._on_message(message)

    def _state(self) -> str:
        images = () if self._subscription is None else self._subscription.images
        positions = ", ".join(f"{image.session_id} at {image.position}" for image in images)
        return f"{self.received} received, images: {positions or 'none'}"
