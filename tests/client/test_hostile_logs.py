"""A log whose frames cannot be stepped over ends its image with an error; every way of polling returns, and other images go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy
import pytest

from aerowire import aio
from aerowire.base.errors import MalformedFrameError
from aerowire.client import Aeron, ControlledFragmentAssembler, FragmentAssembler, Image, Subscription
from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import MAX_MESSAGE_LENGTH, DataFlags, DataHeaderEncoder, FrameType
from tests.aio.conftest import run
from tests.support.waiting import busy_no_longer_than

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver, Stream

    Streams = tuple[Subscription, Any, Stream]

CHANNEL = "aeron:ipc"
TERM = 65536
POLL_LIMIT_S = 0.1
# Shorter than a header, longer than the term's rest by the least and by the most, and what overflows when it is aligned.
LENGTHS = [1, 8, 31, TERM - 64 + 1, TERM, 0x4000_0000, 0x7FFF_FFE1, 0x7FFF_FFFF]


def frame(length: int, payload: bytes = b"", *, flags: int = DataFlags.UNFRAGMENTED, kind: int = FrameType.DATA, offset: int = 0) -> bytes:
    header = DataHeaderEncoder.encode(
        frame_length=length, flags=flags, type=kind, term_offset=offset, session_id=9, stream_id=10, term_id=7
    )
    return header[:32] + payload


def write(stream: Stream, offset: int, *frames: bytes) -> int:
    """Put frames into the first term, one behind the other; return where they end."""
    term = stream.log.term_view(0)
    for data in frames:
        term[offset : offset + len(data)] = data
        offset += -(-len(data) // 32) * 32
    return offset


class Reader:
    """Polls one subscription in one of the ways that there are, and notes what came."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.payloads: list[bytes] = []
        self._assembler = FragmentAssembler(self._take)
        self._controlled = ControlledFragmentAssembler(self._take)
        self._array = numpy.zeros((4, 8), dtype=numpy.uint8)

    def _take(self, buffer: memoryview, offset: int, length: int, _header: object) -> None:
        self.payloads.append(bytes(buffer[offset : offset + length]))

    def poll(self) -> None:
        self.subscription.poll(self._take, 100)

    def assembler(self) -> None:
        self.subscription.poll(self._assembler, 100)

    def controlled(self) -> None:
        self.subscription.controlled_poll(self._take, 100)

    def controlled_assembler(self) -> None:
        self.subscription.controlled_poll(self._controlled, 100)

    def bounded(self) -> None:
        for image in self.subscription.images:
            image.bounded_poll(self._take, 1 << 40, 100)

    def bounded_controlled(self) -> None:
        for image in self.subscription.images:
            image.bounded_controlled_poll(self._take, 1 << 40, 100)

    def many(self) -> None:
        self.payloads += self.subscription.poll_many(100).to_list()

    def block(self) -> None:
        with self.subscription.poll_block(TERM) as block:
            self.payloads += [bytes(view) for view in block.payloads()]

    def raw_blocks(self) -> None:
        self.subscription.block_poll(lambda buffer, offset, length, *_: self._split(bytes(buffer[offset : offset + length])), TERM)

    def rows(self) -> None:
        self.payloads += [bytes(row) for row in self._array[: self.subscription.poll_into(self._array)]]

    def iteration(self) -> None:
        self.payloads += self.subscription.messages(timeout_ns=0)

    def views(self) -> None:
        self.payloads += [bytes(view) for view in self.subscription.views(timeout_ns=0)]

    def _split(self, frames: bytes) -> None:
        for begin in range(0, len(frames), 64):
            self.payloads.append(frames[begin + 32 : begin + 40])


WAYS = [name for name in vars(Reader) if not name.startswith("_")]


def timed(call: Callable[[], object]) -> None:
    with busy_no_longer_than(POLL_LIMIT_S * 5, "a poll took too long"):
        call()


@pytest.fixture
def gone() -> list[Image]:
    return []


@pytest.fixture
def errors() -> list[BaseException]:
    return []


@pytest.fixture
def client(connect: Callable[..., Aeron], errors: list[BaseException]) -> Aeron:
    return connect(error_handler=errors.append)


@pytest.fixture
def streams(client: Aeron, driver: FakeDriver, gone: list[Image]) -> Streams:
    """A subscription with the images of two publications; what the first one's log holds is the test's own."""
    subscription = client.add_subscription(CHANNEL, 10, unavailable_image_handler=gone.append)
    client.add_exclusive_publication(CHANNEL, 10)
    other = client.add_exclusive_publication(CHANNEL, 10)
    driver.cycle(client)
    return subscription, other, driver.streams[0]


def image_of(subscription: Subscription, stream: Stream) -> Image:
    image = subscription.image_by_session_id(stream.session_id)
    assert image is not None
    return image


def hear(client: Aeron) -> None:
    for _ in range(3):
        client.invoke()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("way", WAYS)
def test_every_poll_ends_the_image_at_a_frame_that_cannot_be_stepped_over(
    way: str, length: int, streams: Streams, client: Aeron, driver: FakeDriver, errors: list[BaseException], gone: list[Image]
) -> None:
    subscription, other, stream = streams
    reader = Reader(subscription)
    write(stream, 0, frame(40, b"12345678"), frame(length))
    other.offer(b"abcdefgh")
    for _ in range(4):
        timed(getattr(reader, way))
        hear(client)
    other.offer(b"ABCDEFGH")
    timed(getattr(reader, way))
    assert sorted(reader.payloads) == [b"12345678", b"ABCDEFGH", b"abcdefgh"]
    (error,) = errors
    assert isinstance(error, MalformedFrameError)
    assert (error.session_id, error.stream_id, error.position, error.frame_length) == (stream.session_id, 10, 64, length)
    assert str(length) in str(error)
    (image,) = gone
    assert (image.is_closed, image.position, image.failure) == (True, 64, error)
    assert subscription.images == tuple(i for i in subscription.images if not i.is_closed)
    assert len(subscription.images) == 1
    driver.cycle(client)
    rejection = commands.RejectImageDecoder(driver.last(CommandType.REJECT_IMAGE))
    assert (rejection.image_correlation_id, rejection.position) == (image.correlation_id, 64)
    driver.drop_images(stream)
    hear(client)
    assert gone == [image]


@pytest.mark.parametrize("offset", [0x7FFF_FFE0, -(2**31)])
def test_a_header_that_names_an_offset_outside_its_term_has_a_position(offset: int, streams: Streams) -> None:
    subscription, _, stream = streams
    write(stream, 0, frame(40, b"12345678", offset=offset))
    positions: list[int] = []
    subscription.poll(lambda _buffer, _offset, _length, header: positions.append(header.position), 10)
    begin = (7 - stream.log.first_term_id) * TERM
    assert positions == [begin + offset + 64]


@pytest.mark.parametrize("length", [31, 0x7FFF_FFFF])
@pytest.mark.parametrize("way", WAYS)
def test_padding_that_cannot_be_stepped_over_ends_the_image_too(
    way: str, length: int, streams: Streams, client: Aeron, errors: list[BaseException]
) -> None:
    subscription, _, stream = streams
    write(stream, 0, frame(length, kind=FrameType.PAD))
    reader = Reader(subscription)
    for _ in range(2):
        timed(getattr(reader, way))
        hear(client)
    assert [type(error) for error in errors] == [MalformedFrameError]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "raw_blocks"])
def test_a_poll_of_a_log_full_of_padding_ends(way: str, streams: Streams, errors: list[BaseException]) -> None:
    subscription, _, stream = streams
    for index in range(3):
        stream.log.term_view(index)[:] = frame(32, kind=FrameType.PAD) * (TERM // 32)
    reader = Reader(subscription)
    for _ in range(3):
        timed(getattr(reader, way))
    assert reader.payloads == []
    assert errors == []


def test_an_image_polled_by_itself_says_why_it_has_ended(streams: Streams) -> None:
    subscription, _, stream = streams
    image = image_of(subscription, stream)
    assert image.failure is None
    write(stream, 0, frame(0x7FFF_FFFF))
    assert image.poll(lambda *_: None) == 0
    assert image.poll(lambda *_: None) == 0
    assert image.is_closed
    assert isinstance(image.failure, MalformedFrameError)


def test_a_position_that_is_no_frames_is_rounded_down(streams: Streams, driver: FakeDriver) -> None:
    subscription, _, stream = streams
    image = image_of(subscription, stream)
    write(stream, 0, frame(40, b"12345678"))
    reader = Reader(subscription)
    for way in WAYS:
        for position in (1, 31, TERM - 1, 3 * TERM - 1, -1, (1 << 63) - 1):
            driver.counters.set_value(image.subscriber_position_id, position)
            timed(getattr(reader, way))


@pytest.mark.parametrize("low", [0, 64, 0x8000_0000, 0x8000_0040, 0xFFFF_0000])
@pytest.mark.parametrize("high", [-(1 << 63), -(1 << 63) + (1 << 32), -(1 << 62), -(1 << 32)], ids=hex)
def test_a_poll_from_a_position_below_zero_ends_with_the_term(high: int, low: int, streams: Streams, driver: FakeDriver) -> None:
    subscription, _, stream = streams
    image = image_of(subscription, stream)
    for index in range(3):
        stream.log.term_view(index)[:] = (frame(64) + bytes(32)) * (TERM // 64)
    polls: list[Callable[[Any], int]] = [
        lambda handler: image.poll(handler, TERM),
        lambda handler: image.bounded_poll(handler, (1 << 63) - 1, TERM),
        lambda handler: image.controlled_poll(handler, TERM),
        lambda handler: image.bounded_controlled_poll(handler, (1 << 63) - 1, TERM),
    ]
    for poll in polls:
        driver.counters.set_value(image.subscriber_position_id, high + low)
        assert poll(lambda *_: None) == (TERM - low % TERM) // 64


def test_a_message_whose_first_fragment_is_empty_is_put_together(streams: Streams) -> None:
    subscription, _, stream = streams
    write(
        stream,
        0,
        frame(32, flags=DataFlags.BEGIN),
        frame(40, b"12345678", flags=DataFlags.END, offset=32),
        frame(32, flags=DataFlags.BEGIN, offset=96),
        frame(32, flags=DataFlags.END, offset=128),
    )
    seen: list[tuple[int, int, int | None]] = []
    subscription.poll(
        FragmentAssembler(lambda _b, _o, length, header: seen.append((length, header.position, header.fragmented_frame_length)))
    )
    assert seen == [(8, 96, 96), (0, 160, 64)]


@pytest.mark.parametrize(("fragments", "delivered"), [(256, 1), (257, 0)])
def test_a_message_takes_no_more_memory_than_the_longest_may(fragments: int, delivered: int, streams: Streams) -> None:
    subscription, _, stream = streams
    image = image_of(subscription, stream)
    lengths: list[int] = []
    assembler = FragmentAssembler(lambda _b, _o, length, _h: lengths.append(length))
    payload = TERM - 32
    assert 256 * payload <= MAX_MESSAGE_LENGTH < 257 * payload
    for i in range(fragments):
        flags = DataFlags.BEGIN if i == 0 else DataFlags.END if i == fragments - 1 else 0
        stream.log.term_view(i % 3)[:32] = frame(TERM, flags=int(flags), offset=i * TERM)
        start = image.position
        assert image.poll(assembler, 1) == 1
        assert image.position == start + TERM
    assert len(lengths) == delivered


def test_sessions_that_frames_make_up_take_no_memory(streams: Streams) -> None:
    subscription, _, stream = streams
    assembler = FragmentAssembler(lambda *_: None)
    for session in range(64):
        header = DataHeaderEncoder.encode(frame_length=32, flags=DataFlags.BEGIN, type=FrameType.DATA, session_id=session)
        stream.log.term_view(0)[session * 32 : session * 32 + 32] = header[:32]
    assert subscription.poll(assembler, 64) == 64
    assert assembler.free_session_buffer(stream.session_id)
    assert not any(assembler.free_session_buffer(session) for session in range(64))


def test_a_block_that_its_publisher_changes_raises_and_reads_nothing_beyond(streams: Streams) -> None:
    subscription, _, stream = streams
    write(stream, 0, frame(40, b"12345678"), frame(40, b"12345678"))
    with subscription.poll_block(TERM) as block:
        for length in (0, 1, -64, 129, 0x7FFF_FFFF):
            write(stream, 64, frame(length))
            for read in (
                block.payloads,
                block.headers,
                lambda: block.records("u8"),
                lambda: block.frame_offsets,
                lambda: block._frame_at(64),
            ):
                with pytest.raises(MalformedFrameError, match="changed while it is out"):
                    read()
        block.give_back()


def test_an_event_loop_reads_the_other_streams_and_does_not_spin(driver: FakeDriver, errors: list[BaseException]) -> None:
    async def scene() -> None:
        async with aio.connect(driver.directory, error_handler=errors.append) as aeron:
            gone: list[Image] = []
            subscription = await aeron.add_subscription(CHANNEL, 10, unavailable_image_handler=gone.append)
            await aeron.add_exclusive_publication(CHANNEL, 10)
            other = await aeron.add_exclusive_publication(CHANNEL, 10)
            await subscription.connected()
            while len(subscription.images) < 2:
                await asyncio.sleep(0.001)
            write(driver.streams[0], 0, frame(0x4000_0000))
            await other.send(b"one")
            assert (await asyncio.wait_for(subscription.receive(), 5)).payload == b"one"
            async with asyncio.timeout(5):
                while not gone:
                    await asyncio.sleep(0.001)
            cpu = time.process_time()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(subscription.receive(), 0.3)
            assert time.process_time() - cpu < 0.25
            await other.send(b"two")
            assert (await asyncio.wait_for(subscription.receive(), 5)).payload == b"two"
            assert [type(error) for error in errors] == [MalformedFrameError]
            assert len(subscription.images) == 1

    with driver.background():
        run(scene())
