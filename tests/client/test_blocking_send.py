"""Offers that ask for reserved values, offers of blocks, and sends that wait."""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from aerowire.base.errors import (
    BackPressureError,
    ConfigurationError,
    MaxPositionExceededError,
    MessageTooLongError,
    NotConnectedError,
    PublicationClosedError,
    WrongTypeError,
)
from aerowire.client import Aeron, ExclusivePublication, Header, Subscription
from aerowire.codecs.flyweights.commands import CommandType, RemovePublicationDecoder, RemovePublicationFlags
from aerowire.codecs.flyweights.logbuffer import LogMetadataEncoder

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

CHANNEL = "aeron:ipc"
FRAME = 64
Opened = tuple[Any, Subscription]


@pytest.fixture(params=["concurrent", "exclusive"])
def opened(request: pytest.FixtureRequest, aeron: Aeron) -> Opened:
    """A publication of either kind and its subscriber."""
    subscription = aeron.add_subscription(CHANNEL, 10)
    add = aeron.add_publication if request.param == "concurrent" else aeron.add_exclusive_publication
    publication = add(CHANNEL, 10)
    aeron.invoke()
    return publication, subscription


def fragments(subscription: Subscription) -> list[tuple[bytes, int]]:
    """Return payload and reserved value of what is there."""
    found: list[tuple[bytes, int]] = []

    def handler(_buffer: memoryview, _offset: int, _length: int, header: Header) -> None:
        found.append((header.payload(), header.reserved_value))

    subscription.poll(handler, 1000)
    return found


def test_a_supplier_is_asked_for_each_frame_once_it_is_written(opened: Opened) -> None:
    publication, subscription = opened
    message = bytes(range(256)) * 12
    asked: list[tuple[int, int]] = []

    def checksum(buffer: memoryview, offset: int, length: int) -> int:
        asked.append((offset, length))
        assert struct.unpack_from("<i", buffer, offset) == (-length,)  # not published yet
        return sum(buffer[offset + 32 : offset + length])

    assert publication.offer(message, reserved_value=checksum) > 0
    assert publication.offer_parts(b"two ", b"parts", reserved_value=checksum) > 0
    found = fragments(subscription)
    assert b"".join(payload for payload, _ in found[:-1]) == message
    assert found[-1][0] == b"two parts"
    assert [reserved for _, reserved in found] == [sum(payload) for payload, _ in found]
    assert [length for _, length in asked] == [32 + len(payload) for payload, _ in found]
    assert asked[0][0] == 0


def test_a_supplier_that_raises_leaves_padding(opened: Opened) -> None:
    publication, subscription = opened
    calls: list[int] = []

    def fail(_buffer: memoryview, _offset: int, length: int) -> int:
        calls.append(length)
        raise LookupError("no checksum")

    with pytest.raises(LookupError, match="no checksum"):
        publication.offer(bytes(3000), reserved_value=fail)
    with pytest.raises(LookupError, match="no checksum"):
        publication.offer_parts(b"a", b"b", reserved_value=fail)
    assert len(calls) == 2
    assert publication.offer(b"after") > 0
    assert fragments(subscription) == [(b"after", 0)]


def test_a_reserved_value_is_a_number_or_a_function(opened: Opened) -> None:
    publication, subscription = opened
    assert publication.offer_parts(b"a", b"b", reserved_value=-3) > 0
    with pytest.raises(TypeError, match="an int or a function"):
        publication.offer(b"c", reserved_value="x")
    assert fragments(subscription) == [(b"ab", -3)]


def test_any_number_of_parts_makes_a_message(opened: Opened) -> None:
    publication, subscription = opened
    parts = [bytes([i % 256]) * (i % 7) for i in range(500)]
    assert publication.offer_parts(*parts) > 0
    assert b"".join(payload for payload, _ in fragments(subscription)) == b"".join(parts)
    with pytest.raises(MessageTooLongError, match="got 8500"):
        publication.offer_parts(bytes(8000), bytes(500))


def test_a_block_of_frames_goes_where_the_stream_stands(aeron: Aeron, driver: FakeDriver) -> None:
    subscription = aeron.add_subscription(CHANNEL, 10)
    publication = aeron.add_exclusive_publication(CHANNEL, 10)
    aeron.invoke()
    assert publication.offer(b"first") == FRAME
    header = struct.Struct("<iBBHiiiiq")

    def frame(payload: bytes, term_offset: int, **changes: int) -> bytes:
        fields = {"term_id": publication.term_id, "session_id": publication.session_id, "stream_id": 10, "type": 1, **changes}
        head = header.pack(
            32 + len(payload), 0, 0xC0, fields["type"], term_offset, fields["session_id"], fields["stream_id"], fields["term_id"], 99
        )
        return (head + payload).ljust(FRAME, b"\0")

    block = frame(b"second", FRAME) + frame(b"third", 2 * FRAME)
    assert publication.offer_block(b"xx" + block, 2) == 3 * FRAME
    assert publication.position == 3 * FRAME
    assert fragments(subscription) == [(b"first", 0), (b"second", 99), (b"third", 99)]
    wrong = [{"term_id": 1}, {"session_id": 1}, {"stream_id": 1}, {"type": 0}]
    for bad in [frame(b"x", 2 * FRAME), *(frame(b"x", 3 * FRAME, **changes) for changes in wrong), b"", bytes(33)]:
        with pytest.raises(ValueError, match="not this stream's next"):
            publication.offer_block(bad)
    with pytest.raises(ValueError, match="do not fit a buffer"):
        publication.offer_block(block, 0, 1000)
    driver.drop_images(driver.streams[-1])
    publication.close()
    with pytest.raises(PublicationClosedError):
        publication.offer_block(block)


def test_revoke_on_close_is_told_to_the_driver(aeron: Aeron, driver: FakeDriver) -> None:
    publication = aeron.add_exclusive_publication(CHANNEL, 10)
    assert not publication.revoke_on_close
    publication.revoke_on_close = True
    publication.close()
    driver.invoke()
    assert RemovePublicationDecoder(driver.last(CommandType.REMOVE_PUBLICATION)).flags == RemovePublicationFlags.REVOKE


def test_send_returns_the_position_after_the_message(opened: Opened) -> None:
    publication, subscription = opened
    assert publication.send(b"now", reserved_value=5) == FRAME
    assert fragments(subscription) == [(b"now", 5)]


def test_send_raises_when_nobody_listens_in_time(aeron: Aeron) -> None:
    publication = aeron.add_publication(CHANNEL, 10)
    with pytest.raises(NotConnectedError, match="no subscriber"):
        publication.send(b"x", timeout_ns=1_000_000)
    with pytest.raises(NotConnectedError, match=r"within 0\.002 s"):
        publication.send(b"x", timeout_ns="2ms")
    with pytest.raises(ConfigurationError, match="timeout_ns is not a duration"):
        publication.send(b"x", timeout_ns="soon")
    assert isinstance(NotConnectedError("x"), TimeoutError)


def test_send_raises_when_the_subscriber_does_not_keep_up(opened: Opened) -> None:
    publication, _subscription = opened
    while publication.offer(bytes(1000)) > 0:
        pass
    with pytest.raises(BackPressureError, match="do not keep up"):
        publication.send(bytes(1000), timeout_ns=1_000_000)
    with pytest.raises(BackPressureError):
        publication.send_many([b"x", b"y"], timeout_ns=1_000_000)


def test_send_goes_over_the_end_of_a_term(opened: Opened) -> None:
    publication, subscription = opened
    sent = 0
    while publication.position < 3 * publication.term_buffer_length:
        publication.send(sent.to_bytes(4, "little") * 250)
        sent += 1
        (found,) = fragments(subscription) or fragments(subscription)  # the padding at a term's end takes a poll of its own
        assert found[0][:4] == (sent - 1).to_bytes(4, "little")


@pytest.mark.parametrize("messages", [5, None, {"a": 1}, iter([b"x"]), {b"x"}], ids=lambda value: type(value).__name__)
def test_send_many_refuses_what_has_no_parts(opened: Opened, messages: Any) -> None:
    publication, _subscription = opened
    with pytest.raises(WrongTypeError, match=r"messages has the wrong type.*expected a sequence"):
        publication.send_many(messages)


def test_send_many_sends_all_of_an_array_while_a_subscriber_reads(driver: FakeDriver) -> None:
    rows = np.arange(5000 * 4, dtype=np.int64).reshape(5000, 4)
    with driver.background(), Aeron.connect(driver.directory) as client:
        subscription = client.add_subscription(CHANNEL, 10)
        publication = client.add_publication(CHANNEL, 10)
        sender = threading.Thread(target=publication.send_many, args=(rows,))
        sender.start()
        received = [message for _, message in zip(range(len(rows)), subscription, strict=False)]
        sender.join()
    assert b"".join(received) == rows.tobytes()


def test_send_raises_at_the_end_of_the_stream_and_once_closed(aeron: Aeron, driver: FakeDriver) -> None:
    subscription = aeron.add_subscription(CHANNEL, 10)
    publication: ExclusivePublication = aeron.add_exclusive_publication(CHANNEL, 10)
    publication.close()
    del subscription
    with pytest.raises(PublicationClosedError):
        publication.send(b"x")
    stream = driver.open_stream(5000, CHANNEL, 11, exclusive=False)
    metadata = LogMetadataEncoder(stream.log.metadata_view())
    last = (1 << 31) - 1
    index = last % 3
    metadata.active_term_count = last
    tail = (stream.log.first_term_id + last + (1 << 31)) % (1 << 32) - (1 << 31)
    stream.log.metadata_view()[8 * index : 8 * index + 8] = struct.pack("<q", (tail << 32) | (65536 - 32))
    full = aeron.add_publication(CHANNEL, 11)
    driver.counters.set_value(stream.limit_id, 1 << 62)
    with pytest.raises(MaxPositionExceededError, match="at its end"):
        full.send(bytes(100))
