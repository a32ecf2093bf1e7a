"""How a subscriber reads a log: fragments, copies, blocks, whole messages, and what stays safe afterwards."""

from __future__ import annotations

import gc
import struct
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

from aerowire.base.errors import AerowireError, ClosedError
from aerowire.client import Aeron, FragmentAssembler, FragmentBatch, Header, Publication, Subscription
from aerowire.codecs.flyweights.transport import DataFlags, FrameType

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

CHANNEL = "aeron:ipc"


@pytest.fixture
def pair(aeron: Aeron, driver: FakeDriver) -> tuple[Publication, Subscription]:
    subscription = aeron.add_subscription(CHANNEL, 10)
    publication = aeron.add_publication(CHANNEL, 10)
    driver.cycle(aeron)
    return publication, subscription


def ignore(*_: object) -> None:
    pass


def test_a_handler_gets_the_term_and_where_the_payload_lies(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    publication.offer(b"abc")
    publication.offer(struct.pack("<q", 42), reserved_value=3)
    seen: list[dict[str, Any]] = []

    def handler(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        assert buffer.readonly
        assert len(buffer) == 65536
        seen.append(
            {
                "payload": bytes(buffer[offset : offset + length]),
                "position": header.position,
                "term": (header.term_id, header.term_offset, header.next_term_offset),
                "ids": (header.session_id, header.stream_id),
                "frame": (header.frame_length, header.payload_length, header.flags, header.type, header.reserved_value),
                "fragmented": header.fragmented_frame_length,
            }
        )
        assert header.image is subscription.images[0]

    assert subscription.poll(handler) == 2
    ids = (publication.session_id, 10)
    assert seen == [
        {
            "payload": b"abc",
            "position": 64,
            "term": (7, 0, 64),
            "ids": ids,
            "frame": (35, 3, DataFlags.UNFRAGMENTED, FrameType.DATA, 0),
            "fragmented": None,
        },
        {
            "payload": struct.pack("<q", 42),
            "position": 128,
            "term": (7, 64, 128),
            "ids": ids,
            "frame": (40, 8, DataFlags.UNFRAGMENTED, FrameType.DATA, 3),
            "fragmented": None,
        },
    ]


def test_delivers_at_most_the_limit_and_moves_the_position(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    image = subscription.images[0]
    for _ in range(5):
        publication.offer(b"x")
    assert subscription.poll(ignore, 2) == 2
    assert image.position == 128
    assert subscription.poll(ignore, 0) == 0
    assert subscription.poll(ignore, 10) == 3
    assert subscription.poll(ignore, 10) == 0
    assert image.position == publication.position


def test_a_handler_that_raises_ends_the_poll_behind_its_fragment(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    for data in (b"a", b"b", b"c"):
        publication.offer(data)
    seen: list[bytes] = []

    def handler(_buffer: memoryview, _offset: int, _length: int, header: Header) -> None:
        seen.append(header.payload())
        if seen[-1] == b"b":
            raise KeyError("b")

    with pytest.raises(KeyError):
        subscription.poll(handler)
    assert subscription.poll(handler) == 1
    assert seen == [b"a", b"b", b"c"]


def test_a_handler_may_close_its_subscription(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    publication.offer_many([b"x"] * 5)
    image = subscription.images[0]
    assert subscription.poll(lambda *_: subscription.close()) == 1
    assert image.is_closed
    with pytest.raises(ClosedError):
        subscription.poll(ignore)


def test_a_handler_may_not_poll_its_own_image(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    publication.offer_many([b"x"] * 2)
    with pytest.raises(AerowireError, match="its own handler"):
        subscription.poll(lambda *_: subscription.poll(ignore))
    assert subscription.poll(ignore) == 1


def test_bounded_poll_stops_before_the_limit(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    publication.offer_many([b"x"] * 5)
    image = subscription.images[0]
    assert image.bounded_poll(ignore, 128) == 2
    assert image.bounded_poll(ignore, 128) == 0
    assert image.bounded_poll(ignore, 129) == 1


def test_poll_many_copies_in_order(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    sent = [bytes([index]) * index for index in range(40)]
    assert publication.offer_many(sent) == 40
    batch = subscription.poll_many(30)
    assert isinstance(batch, FragmentBatch)
    assert len(batch) == 30
    assert batch == sent[:30]
    assert list(batch) == sent[:30]
    assert batch[-1] == sent[29]
    assert batch[2:4] == sent[2:4]
    assert bytes(batch.data) == b"".join(sent[:30])
    assert batch.offsets.tolist() == [sum(range(index)) for index in range(31)]
    assert set(batch.session_ids) == {publication.session_id}
    assert set(batch.flags) == {DataFlags.UNFRAGMENTED}
    assert not batch.has_fragments
    assert subscription.poll_many(30) == sent[30:]
    empty = subscription.poll_many(30)
    assert not empty
    assert empty == []
    assert (len(empty.data), empty.offsets.tolist(), len(empty.session_ids), len(empty.flags)) == (0, [0], 0, 0)
    with pytest.raises(IndexError):
        batch[30]


def test_a_batch_of_equal_lengths_is_an_array(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    rows = np.arange(12, dtype=np.int64).reshape(6, 2)
    publication.offer_many(rows)
    array = subscription.poll_many(10).array(np.dtype(("<i8", 2)))
    assert np.array_equal(array, rows)
    publication.offer(b"abc")
    with pytest.raises(ValueError, match="has 3 bytes"):
        subscription.poll_many(10).array("<i8")


def test_batches_outlive_their_image(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    publication.offer(b"kept")
    batch = subscription.poll_many(1)
    data, offsets = batch.data, batch.offsets
    subscription.close()
    del batch
    gc.collect()
    assert bytes(data) == b"kept"
    assert offsets.tolist() == [0, 4]


def test_poll_many_crosses_a_term(pair: tuple[Publication, Subscription], driver: FakeDriver) -> None:
    publication, subscription = pair
    sent = got = 0
    while publication.position < 3 * 65536:
        sent += publication.offer_many([bytes(968)] * 5)
        got += len(subscription.poll_many(100))
        driver.invoke()
    assert got == sent


def test_a_block_moves_the_position_at_its_release(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    image = subscription.images[0]
    publication.offer_many([struct.pack("<q", number) for number in range(10)])
    with image.poll_block(4 * 64) as block:
        assert block
        assert image.position == 0
        assert block.length == 256
        assert (block.term_id, block.term_offset, block.session_id) == (7, 0, publication.session_id)
        assert (block.begin_position, block.end_position) == (0, 256)
        assert block.records("<i8").tolist() == [0, 1, 2, 3]
        assert block.frame_offsets.tolist() == [0, 64, 128, 192]
        assert block.payload_lengths.tolist() == [8] * 4
        assert [bytes(view) for view in block.payloads()] == [struct.pack("<q", number) for number in range(4)]
        assert not block.data.flags.writeable
        assert not block.records("<i8").flags.writeable
        copied = block.copy()
        assert copied == bytes(block.buffer) == block.data.tobytes()
    assert image.position == 256
    assert not block.is_held
    with pytest.raises(ClosedError):
        _ = block.buffer
    assert len(copied) == 256


def test_a_block_holds_at_least_one_frame(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    publication.offer(bytes(1000))
    with subscription.poll_block(1) as block:
        assert block.length == 1056


def test_a_block_given_back_is_lent_again(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    image = subscription.images[0]
    publication.offer(b"again")
    with pytest.raises(RuntimeError), image.poll_block(4096):
        raise RuntimeError
    assert image.position == 0
    assert [bytes(view) for view in image.poll_block(4096).payloads()] == [b"again"]
    gc.collect()
    with image.poll_block(4096) as block:
        assert block.length == 64


def test_nobody_polls_while_a_block_is_out(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    publication.offer(b"x")
    block = subscription.poll_block(4096)
    for poll in (lambda: subscription.poll(ignore), lambda: subscription.poll_many(1), lambda: subscription.poll_block(1)):
        with pytest.raises(AerowireError, match="block"):
            poll()
    block.release()
    block.release()
    assert not subscription.poll_block(4096)


def test_a_block_dropped_in_a_cycle_is_given_back(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    publication.offer(b"a")
    ring: list[object] = [subscription.poll_block(4096)]
    ring.append(ring)
    del ring
    gc.collect()
    assert subscription.poll(ignore) == 1


def test_an_empty_block_is_harmless(pair: tuple[Publication, Subscription]) -> None:
    _, subscription = pair
    with subscription.poll_block(4096) as block:
        assert not block
        assert block.length == 0
        assert block.payloads() == []
        assert block.copy() == b""
        assert len(block.records("<i8")) == 0


def test_assembles_whole_messages(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    messages = [b"a" * 10, bytes(range(256)) * 20, b"", b"z" * 8192]
    for message in messages:
        assert publication.offer(message) > 0
    seen: list[tuple[bytes, int, int | None, int, int]] = []

    def handler(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        assert header.payload() == bytes(buffer[offset : offset + length])
        seen.append((header.payload(), header.flags, header.fragmented_frame_length, header.frame_length, header.position))

    assembler = FragmentAssembler(handler)
    while subscription.poll(assembler, 3):
        pass
    assert [entry[0] for entry in seen] == messages
    assert {entry[1] for entry in seen} == {DataFlags.UNFRAGMENTED}
    assert [entry[2] is None for entry in seen] == [True, False, True, False]
    assert [entry[3] for entry in seen] == [32 + len(message) for message in messages]
    assert seen[-1][4] == publication.position
    assert assembler.free_session_buffer(publication.session_id)
    assert not assembler.free_session_buffer(publication.session_id)


def test_an_assembler_takes_a_message_whose_first_fragment_is_empty(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    for flags, payload in ((DataFlags.BEGIN, b""), (DataFlags(0), b"abc"), (DataFlags.END, b"de")):
        with publication.try_claim(len(payload)) as claim:
            claim.flags = int(flags)
            claim.buffer[:] = payload
    seen: list[tuple[bytes, int | None, int]] = []
    assembler = FragmentAssembler(
        lambda _b, _o, _l, header: seen.append((header.payload(), header.fragmented_frame_length, header.position))
    )
    subscription.poll(assembler, 10)
    assert seen == [(b"abcde", 32 + 64 + 64, publication.position)]


def test_an_assembler_can_be_called_by_another_handler(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    got: list[bytes] = []
    assembler = FragmentAssembler(lambda _b, _o, _l, header: got.append(header.payload()))
    publication.offer(b"q" * 5000)
    publication.offer(b"short")

    def handler(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        assembler(buffer, offset, length, header)

    subscription.poll(handler, 100)
    assert got == [b"q" * 5000, b"short"]


def test_an_assembler_drops_a_message_that_it_did_not_see_begin(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair
    publication.offer(b"1" * 5000)
    publication.offer(b"2" * 5000)
    got: list[bytes] = []
    assembler = FragmentAssembler(lambda _b, _o, _l, header: got.append(header.payload()))
    subscription.poll(assembler, 1)
    subscription.poll(ignore, 1)
    while subscription.poll(assembler, 100):
        pass
    assert got == [b"2" * 5000]


def test_an_assembler_passes_on_what_its_delegate_raises(pair: tuple[Publication, Subscription]) -> None:
    publication, subscription = pair

    def fail(*_: object) -> NoReturn:
        raise LookupError

    publication.offer(bytes(5000))
    with pytest.raises(LookupError):
        subscription.poll(FragmentAssembler(fail), 100)
    with pytest.raises(TypeError):
        FragmentAssembler(None)  # type: ignore[arg-type]
