"""What offers do to a log, and what they answer."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerowire.base.errors import ClosedError, MessageTooLongError, PublicationClosedError
from aerowire.client import (
    ADMIN_ACTION,
    BACK_PRESSURED,
    CLOSED,
    MAX_POSITION_EXCEEDED,
    NOT_CONNECTED,
    Aeron,
    ExclusivePublication,
    Publication,
    Subscription,
    error_string,
)
from aerowire.codecs.flyweights.logbuffer import LogMetadataEncoder
from aerowire.codecs.flyweights.transport import DataFlags

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

CHANNEL = "aeron:ipc"
Opened = tuple[Any, Subscription]


@pytest.fixture(params=["concurrent", "exclusive"])
def opened(request: pytest.FixtureRequest, aeron: Aeron, driver: FakeDriver) -> Opened:
    """A publication of either kind and its subscriber."""
    subscription = aeron.add_subscription(CHANNEL, 10)
    add = aeron.add_publication if request.param == "concurrent" else aeron.add_exclusive_publication
    publication = add(CHANNEL, 10)
    driver.cycle(aeron)
    assert subscription.image_count == 1
    return publication, subscription


def received(subscription: Subscription, limit: int = 1000) -> list[bytes]:
    messages: list[bytes] = []
    subscription.poll(lambda buffer, offset, length, _header: messages.append(bytes(buffer[offset : offset + length])), limit)
    return messages


def test_returns_not_connected_without_a_subscriber(aeron: Aeron) -> None:
    for publication in (aeron.add_publication(CHANNEL, 1), aeron.add_exclusive_publication(CHANNEL, 1)):
        assert publication.offer(b"x") == NOT_CONNECTED
        assert publication.offer_many([b"x"]) == NOT_CONNECTED
        claim = publication.try_claim(1)
        assert not claim
        assert claim.result == NOT_CONNECTED
        assert not publication.is_connected


def test_returns_the_position_after_the_aligned_frame(opened: Opened) -> None:
    publication, subscription = opened
    assert publication.position == 0
    assert publication.offer(b"x" * 32) == 64
    assert publication.offer(b"y") == 128
    assert publication.position == 128
    assert received(subscription) == [b"x" * 32, b"y"]


def test_sends_an_empty_message(opened: Opened) -> None:
    publication, subscription = opened
    assert publication.offer(b"") == 32
    assert received(subscription) == [b""]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, dtype=np.uint8)])
def test_takes_any_contiguous_buffer(opened: Opened, kind: Callable[[bytes], Any]) -> None:
    publication, subscription = opened
    publication.offer(kind(b"0123456789"))
    publication.offer(kind(b"0123456789"), 2)
    publication.offer(kind(b"0123456789"), 2, 5)
    publication.offer(kind(b"0123456789"), offset=2, length=0)
    assert received(subscription) == [b"0123456789", b"23456789", b"23456", b""]


@pytest.mark.parametrize(("offset", "length"), [(-1, None), (11, None), (0, 11), (5, 6), (0, -1)])
def test_refuses_a_part_that_is_not_in_the_buffer(opened: Opened, offset: int, length: int | None) -> None:
    publication, _ = opened
    with pytest.raises(ValueError, match="do not fit"):
        publication.offer(b"0123456789", offset, length)


def test_refuses_what_is_not_a_contiguous_buffer(opened: Opened) -> None:
    publication, _ = opened
    with pytest.raises(TypeError):
        publication.offer("text")
    with pytest.raises(BufferError):
        publication.offer(memoryview(b"0123456789")[::2])


def test_carries_a_reserved_value(opened: Opened) -> None:
    publication, subscription = opened
    publication.offer(b"a", reserved_value=-5)
    publication.offer_parts(b"b", b"c", reserved_value=7)
    seen: list[tuple[bytes, int]] = []
    subscription.poll(lambda _b, _o, _l, header: seen.append((header.payload(), header.reserved_value)))
    assert seen == [(b"a", -5), (b"bc", 7)]


def test_refuses_a_message_longer_than_the_maximum_and_names_the_lengths(opened: Opened) -> None:
    publication, _ = opened
    assert publication.max_message_length == 65536 // 8
    with pytest.raises(MessageTooLongError, match=r"0 to 8192 bytes.*8193"):
        publication.offer(bytes(8193))
    with pytest.raises(MessageTooLongError):
        publication.try_claim(publication.max_payload_length + 1)
    with pytest.raises(MessageTooLongError):
        publication.offer_parts(bytes(8000), bytes(193))
    assert publication.position == 0


def test_is_back_pressured_at_the_limit_and_goes_on_when_it_moves(opened: Opened, driver: FakeDriver) -> None:
    publication, subscription = opened
    message = b"x" * 1000
    while (result := publication.offer(message)) > 0:
        pass
    assert result == BACK_PRESSURED
    assert publication.available_window <= 0
    subscription.poll(lambda *_: None, 5)
    driver.invoke()
    assert publication.offer(message) > 0


def test_a_term_change_is_an_admin_action_once(opened: Opened, driver: FakeDriver) -> None:
    publication, subscription = opened
    results = []
    for _ in range(3 * 65536 // 1024 + 20):
        results.append(publication.offer(bytes(992)))
        subscription.poll(lambda *_: None, 10)
        driver.invoke()
    assert results.count(ADMIN_ACTION) in {3, 0}
    assert all(result > 0 or result == ADMIN_ACTION for result in results)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=st.lists(st.integers(0, 8192), min_size=1, max_size=60))
def test_many_wraps_deliver_what_was_sent(opened: Opened, driver: FakeDriver, lengths: list[int]) -> None:
    publication, subscription = opened
    from aerowire.client import FragmentAssembler

    sent = [bytes([index % 251]) * length for index, length in enumerate(lengths)]
    got: list[bytes] = []
    assembler = FragmentAssembler(lambda _b, _o, _l, header: got.append(header.payload()))
    for message in sent:
        while publication.offer(message) < 0:
            subscription.poll(assembler, 100)
            driver.invoke()
    while len(got) < len(sent):
        assert subscription.poll(assembler, 100)
    assert got == sent


def test_offer_many_takes_sequences_and_arrays(opened: Opened) -> None:
    publication, subscription = opened
    assert publication.offer_many([b"a", bytearray(b"bc"), memoryview(b"def")]) == 3
    assert publication.offer_many((b"g",)) == 1
    assert publication.offer_many(np.arange(6, dtype=np.uint8).reshape(3, 2)) == 3
    assert publication.offer_many(np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")])) == 1
    assert publication.offer_many([]) == 0
    assert publication.offer_many(np.zeros((0, 4), dtype=np.uint8)) == 0
    assert received(subscription) == [
        b"a",
        b"bc",
        b"def",
        b"g",
        b"\x00\x01",
        b"\x02\x03",
        b"\x04\x05",
        np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")]).tobytes(),
    ]


def test_offer_many_counts_what_was_taken_before_the_limit(opened: Opened, driver: FakeDriver) -> None:
    publication, subscription = opened
    messages = [index.to_bytes(4, "little") * 8 for index in range(5000)]
    sent = 0
    got: list[bytes] = []
    while sent < len(messages):
        result = publication.offer_many(messages[sent:])
        assert result > 0 or result in {BACK_PRESSURED, ADMIN_ACTION}
        sent += max(result, 0)
        got += subscription.poll_many(300)
        driver.invoke()
    while len(got) < len(messages):
        got += subscription.poll_many(300)
    assert got == messages


@pytest.mark.parametrize("single", [b"bytes are one message", np.zeros(8, dtype=np.uint8)])
def test_offer_many_refuses_a_single_message(opened: Opened, single: Any) -> None:
    publication, _ = opened
    with pytest.raises(TypeError, match="offer"):
        publication.offer_many(single)


@pytest.mark.parametrize(
    "send",
    [
        lambda publication, array: publication.offer(array),
        lambda publication, array: publication.send(array),
        lambda publication, array: publication.offer_parts(b"a", array),
        lambda publication, array: publication.offer_parts(*[b"a"] * 300, array),
        lambda publication, array: publication.offer_many([b"a", array]),
        lambda publication, array: publication.offer_many(array),
    ],
)
def test_python_objects_are_no_message(opened: Opened, send: Callable[[Any, Any], object]) -> None:
    publication, subscription = opened
    array = np.array([object(), "text"], dtype=object)
    with pytest.raises(TypeError, match="array of Python objects"):
        send(publication, array)
    assert received(subscription) == []
    with publication.try_claim(16) as claim, pytest.raises(TypeError, match="array of Python objects"):
        claim.put_bytes(array)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.array([(1, 2.0)], dtype=[("O", "<i4"), ("b", "<f8")]),
        np.float64(1.5),
        np.array(["2026-11-22", "2026-11-23"], dtype="M8[ns]"),  # NumPy lends its bytes, but has no format for it
        np.array([(1, 2)], dtype=[("at", "M8[ns]"), ("size", "<i4")]),
    ],
)
def test_any_contiguous_buffer_is_a_message(opened: Opened, array: Any) -> None:
    publication, subscription = opened
    assert publication.offer(array) > 0
    content = array.tobytes()
    assert publication.offer(memoryview(content).cast("H")) > 0
    assert publication.offer_parts(array, content) > 0
    assert publication.offer_many([array, content]) == 2
    assert received(subscription) == [content, content, content * 2, content, content]
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        publication.offer(np.zeros((4, 4), dtype=np.uint8).T[1:])


def test_offer_many_sends_what_stands_before_a_message_that_is_too_long(opened: Opened) -> None:
    publication, subscription = opened
    with pytest.raises(MessageTooLongError):
        publication.offer_many([b"a", b"b", bytes(8193), b"c"])
    assert received(subscription) == [b"a", b"b"]


def test_a_claim_is_written_in_place_and_seen_after_commit(opened: Opened) -> None:
    publication, subscription = opened
    claim = publication.try_claim(4)
    assert claim
    assert claim.result == 64
    assert claim.length == len(claim.buffer) == 4
    claim.buffer[:] = b"abcd"
    claim.reserved_value = 9
    assert received(subscription) == []
    claim.commit()
    assert received(subscription) == [b"abcd"]
    with pytest.raises(ClosedError):
        claim.commit()
    with pytest.raises(ClosedError):
        _ = claim.buffer


def test_a_view_is_released_with_its_claim(opened: Opened) -> None:
    publication, _ = opened
    with publication.try_claim(4) as claim:
        view = claim.buffer
        view[:] = b"wxyz"
    with pytest.raises(ValueError, match="released"):
        view[0] = 1


def test_a_claim_as_context_manager_commits_or_aborts(opened: Opened) -> None:
    publication, subscription = opened
    with publication.try_claim(2) as claim:
        claim.put_bytes(b"ok")
    with pytest.raises(RuntimeError), publication.try_claim(2) as claim:
        raise RuntimeError
    publication.offer(b"after")
    assert received(subscription) == [b"ok", b"after"]


def test_a_dropped_claim_does_not_hold_the_stream_back(opened: Opened) -> None:
    publication, subscription = opened
    publication.try_claim(100)
    publication.offer(b"after")
    assert received(subscription) == [b"after"]


def test_a_dropped_claim_whose_buffer_was_used_does_not_hold_the_stream_back(opened: Opened) -> None:
    publication, subscription = opened
    claim = publication.try_claim(4)
    claim.buffer[:] = b"gone"
    del claim
    publication.offer(b"after")
    assert received(subscription) == [b"after"]


def test_a_view_keeps_its_claim_open(opened: Opened) -> None:
    publication, subscription = opened
    view = publication.try_claim(4).buffer
    view[:] = b"kept"
    publication.offer(b"after")
    assert received(subscription) == []
    del view
    assert received(subscription) == [b"after"]


def test_a_claim_dropped_in_a_cycle_does_not_hold_the_stream_back(opened: Opened) -> None:
    publication, subscription = opened
    ring: list[object] = [publication.try_claim(4)]
    ring.append(ring)
    del ring
    publication.offer(b"after")
    gc.collect()
    assert received(subscription) == [b"after"]


def test_a_claim_takes_no_more_than_it_has(opened: Opened) -> None:
    publication, _ = opened
    with publication.try_claim(4) as claim:
        with pytest.raises(ValueError, match="do not fit"):
            claim.put_bytes(b"abcde")
        for outside in (4, 3, -1, 2**63 - 1):
            with pytest.raises(ValueError, match="do not fit"):
                claim.put_bytes(b"ab", outside)


def test_fragments_carry_begin_and_end(opened: Opened) -> None:
    publication, subscription = opened
    publication.offer(bytes(publication.max_payload_length * 2 + 1))
    flags: list[int] = []
    subscription.poll(lambda _b, _o, _l, header: flags.append(header.flags))
    assert flags == [DataFlags.BEGIN, 0, DataFlags.END]


def test_ends_at_the_last_position(aeron: Aeron, driver: FakeDriver) -> None:
    publication = aeron.add_exclusive_publication(CHANNEL, 10)
    log = driver.streams[0]
    driver.counters.set_value(log.limit_id, (1 << 62))
    LogMetadataEncoder(log.log.metadata_view()).is_connected = 1
    assert publication.max_possible_position == 65536 << 31
    assert publication.offer(b"x") == 64
    driver.counters.set_value(log.limit_id, 0)
    assert publication.offer(b"x") == BACK_PRESSURED
    assert error_string(MAX_POSITION_EXCEEDED) == "MAX_POSITION_EXCEEDED"
    assert error_string(64) == "NONE"
    assert error_string(-99) == "UNKNOWN"


def test_a_closed_publication_raises_and_says_which(opened: Opened) -> None:
    publication, _ = opened
    publication.close()
    publication.close()
    calls: list[Callable[[], object]] = [
        lambda: publication.offer(b"x"),
        lambda: publication.offer_many([b"x"]),
        lambda: publication.offer_parts(b"x"),
        lambda: publication.try_claim(1),
    ]
    for call in calls:
        with pytest.raises(PublicationClosedError, match="stream_id=10"):
            call()
    assert publication.is_closed
    assert publication.position == publication.position_limit == publication.available_window == CLOSED
    assert not publication.is_connected


def test_handles_of_one_stream_share_its_log(aeron: Aeron) -> None:
    first, second = aeron.add_publication(CHANNEL, 10), aeron.add_publication(CHANNEL, 10)
    assert isinstance(first, Publication)
    assert first.session_id == second.session_id
    assert first.is_original
    assert not second.is_original
    first.close()
    assert not second.is_closed
    assert second.offer(b"x") == NOT_CONNECTED


def test_exclusive_publications_have_sessions_of_their_own(aeron: Aeron) -> None:
    first, second = aeron.add_exclusive_publication(CHANNEL, 10), aeron.add_exclusive_publication(CHANNEL, 10)
    assert isinstance(first, ExclusivePublication)
    assert first.session_id != second.session_id
    assert first.term_id == 7
    assert first.term_offset == 0


def test_padding_is_stepped_over(aeron: Aeron, driver: FakeDriver) -> None:
    subscription = aeron.add_subscription(CHANNEL, 10)
    publication = aeron.add_exclusive_publication(CHANNEL, 10)
    driver.cycle(aeron)
    with pytest.raises(ValueError, match="length of padding is negative: -5"):
        publication.append_padding(-5)
    assert publication.append_padding(100) == 160
    publication.offer(b"x")
    assert received(subscription) == [b"x"]
