"""Loops over a subscription, and payloads copied into arrays."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

from aerowire.base.errors import AerowireError, ClosedError, DriverShutdownError
from aerowire.client import Aeron, ExclusivePublication, Subscription
from aerowire.client.subscriptions import iteration
from aerowire.client.subscriptions.iteration import MessageReader
from aerowire.system.waiting import SystemWaiting

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

CHANNEL = "aeron:ipc"
FRAME = 64
SOON_NS = 1_000_000


@pytest.fixture
def opened(aeron: Aeron) -> tuple[ExclusivePublication, Subscription]:
    subscription = aeron.add_subscription(CHANNEL, 10)
    publication = aeron.add_exclusive_publication(CHANNEL, 10)
    aeron.invoke()
    return publication, subscription


Opened = tuple[ExclusivePublication, Subscription]


def test_a_loop_gets_whole_messages_and_leaves_the_rest(opened: Opened) -> None:
    publication, subscription = opened
    long = os.urandom(4000)
    for message in (b"a", long, b"b", b"c"):
        publication.send(message)
    loop = iter(subscription)
    assert [next(loop), next(loop)] == [b"a", long]
    del loop
    assert list(subscription.messages(timeout_ns=SOON_NS)) == [b"b", b"c"]
    assert subscription.images[0].position == publication.position


def test_a_loop_ends_when_the_subscription_is_closed(opened: Opened) -> None:
    publication, subscription = opened
    publication.send(b"last")
    received = []
    for message in subscription:
        received.append(message)
        subscription.close()
    assert received == [b"last"]
    assert list(subscription) == []
    assert list(subscription.views()) == []


@pytest.mark.parametrize("kind", ["messages", "views"])
def test_a_loop_ends_when_another_thread_closes_just_before_its_poll(kind: str) -> None:
    class Closing:
        is_closed = False
        _waiting = SystemWaiting()

        def poll(self, *_: object) -> NoReturn:
            self.is_closed = True
            self._ensure_open()

        poll_block = poll

        def _ensure_open(self) -> NoReturn:
            raise ClosedError("closed")

    subscription: Any = Closing()
    assert list(getattr(MessageReader(), kind)(subscription, None)) == []


def test_a_loop_raises_what_ends_its_client(opened: Opened, driver: FakeDriver) -> None:
    _publication, subscription = opened
    driver.is_dead = True
    driver.ring.consumer_heartbeat_ms = -1
    with pytest.raises(DriverShutdownError):
        next(iter(subscription))


def test_views_show_messages_where_they_lie(opened: Opened) -> None:
    publication, subscription = opened
    long = os.urandom(4000)
    for message in (b"a", long, b"b"):
        publication.send(message)
    views = subscription.views(timeout_ns=SOON_NS)
    first = next(views)
    assert (bytes(first), first.readonly) == (b"a", True)
    with pytest.raises(AerowireError, match="a block of it is out"):
        subscription.poll(lambda *_: None)
    assert [bytes(view) for view in views] == [long, b"b"]
    assert subscription.images[0].position == publication.position


def test_views_that_are_left_count_only_what_the_loop_got(opened: Opened) -> None:
    publication, subscription = opened
    for message in (b"a", b"b", b"c"):
        publication.send(message)
    for view in subscription.views():
        assert bytes(view) == b"a"
        break
    else:
        pytest.fail("no view")
    assert subscription.images[0].position == FRAME
    assert list(subscription.messages(timeout_ns=SOON_NS)) == [b"b", b"c"]


def test_views_drop_a_message_whose_beginning_was_lost(opened: Opened) -> None:
    publication, subscription = opened
    publication.send(bytes(4000))
    publication.send(b"whole")
    subscription.poll(lambda *_: None, 1)
    assert [bytes(view) for view in subscription.views(timeout_ns=SOON_NS)] == [b"whole"]


class _BeginningsOnly:
    """A subscription to which the first fragment of a message comes again and again."""

    def __init__(self, subscription: Subscription, driver: FakeDriver) -> None:
        self._subscription, self._driver = subscription, driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._subscription, name)

    def poll(self, handler: Any, _limit: int) -> int:
        self._rewind()
        return self._subscription.poll(handler, 1)

    def poll_block(self, _length: int) -> Any:
        self._rewind()
        return self._subscription.poll_block(1408)

    def _rewind(self) -> None:
        self._driver.counters.set_value(self.images[0].subscriber_position_id, 0)


@pytest.mark.parametrize("kind", ["messages", "views"])
@pytest.mark.parametrize("fragments_max", [1, 500])
def test_a_loop_ends_in_time_though_fragments_come_that_make_no_message(
    opened: Opened, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, kind: str, fragments_max: int
) -> None:
    publication, subscription = opened
    publication.send(bytes(4000))
    monkeypatch.setattr(iteration, "FRAGMENTS_MAX", fragments_max)
    beginnings: Any = _BeginningsOnly(subscription, driver)
    assert list(getattr(MessageReader(), kind)(beginnings, 0)) == []


@pytest.mark.parametrize("kind", ["messages", "views"])
def test_a_loop_without_patience_gets_long_messages_that_are_there(opened: Opened, kind: str) -> None:
    publication, subscription = opened
    long = os.urandom(5 * publication.max_payload_length)
    publication.send(long)
    assert [bytes(message) for message in getattr(subscription, kind)(timeout_ns=0)] == [long]


@pytest.mark.parametrize("kind", ["messages", "views"])
def test_a_loop_forgets_messages_whose_senders_have_gone(
    opened: Opened, driver: FakeDriver, aeron: Aeron, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    publication, subscription = opened
    monkeypatch.setattr(iteration, "FRAGMENTS_MAX", 1)
    reader = MessageReader()
    publication.send(bytes(4000))
    beginnings: Any = _BeginningsOnly(subscription, driver)
    assert list(getattr(reader, kind)(beginnings, 0)) == []
    assert list(reader._parts) == [publication.session_id] * (kind == "views")
    driver.drop_images(driver.streams[0])
    driver.cycle(aeron)
    assert subscription.images == ()
    assert list(getattr(reader, kind)(subscription, 0)) == []
    assert reader._parts == {}
    assert not reader._assembler.free_session_buffer(publication.session_id)


def test_a_loop_waits_for_messages_of_another_thread(driver: FakeDriver) -> None:
    with driver.background(), Aeron.connect(driver.directory) as client:
        subscription = client.add_subscription(CHANNEL, 10)
        publication = client.add_exclusive_publication(CHANNEL, 10)

        def send() -> None:
            for i in range(200):
                publication.send(i.to_bytes(4, "little"))

        sender = threading.Thread(target=send)
        sender.start()
        received: Iterator[bytes] = iter(subscription)
        assert [int.from_bytes(next(received), "little") for _ in range(200)] == list(range(200))
        sender.join()


def test_payloads_fill_the_rows_of_an_array(opened: Opened, driver: FakeDriver) -> None:
    publication, subscription = opened
    trade = np.dtype([("price", "<f8"), ("size", "<i4"), ("pad", "<i4")])
    array = np.zeros(3000, dtype=trade)
    array["price"] = np.arange(3000)
    copied = np.zeros(3000, dtype=trade)
    sent = filled = 0
    while filled < 3000:
        sent += max(publication.offer_many(array[sent : sent + 400]), 0) if sent < 3000 else 0
        filled += subscription.poll_into(copied[filled:])
        driver.invoke()
    assert (array == copied).all()
    assert subscription.images[0].position == publication.position
    assert publication.position > publication.term_buffer_length  # it went over a term's end


def test_a_payload_of_another_length_ends_the_rows(opened: Opened) -> None:
    publication, subscription = opened
    for message in (bytes(16), bytes(range(16)), b"other", bytes(16)):
        publication.send(message)
    rows = np.zeros((10, 16), dtype=np.uint8)
    image = subscription.images[0]
    assert image.poll_into(rows) == 2
    assert bytes(rows[1]) == bytes(range(16))
    with pytest.raises(ValueError, match="5 bytes, an item of the array 16"):
        subscription.poll_into(rows)
    subscription.poll(lambda *_: None, 1)
    assert subscription.poll_into(rows[:0]) == 0
    assert subscription.poll_into(rows) == 1
    assert subscription.poll_into(rows) == 0


def test_rows_need_a_writable_array_of_items(opened: Opened) -> None:
    _publication, subscription = opened
    with pytest.raises(BufferError):
        subscription.poll_into(bytes(10))
    with pytest.raises(TypeError, match="an array of two dimensions"):
        subscription.poll_into(bytearray(10))
    subscription.close()
    with pytest.raises(ClosedError):
        subscription.poll_into(np.zeros((1, 4), dtype=np.uint8))


def test_a_block_shows_its_headers(opened: Opened) -> None:
    publication, subscription = opened
    publication.offer(b"a", reserved_value=7)
    publication.offer(b"bb", reserved_value=8)
    with subscription.poll_block(4096) as block:
        headers = block.headers()
        with pytest.raises(ValueError, match="no part of whole frames"):
            block.release(33)
    assert headers["reserved_value"].tolist() == [7, 8]
    assert headers["frame_length"].tolist() == [33, 34]
    assert set(headers["session_id"].tolist()) == {publication.session_id}


@pytest.mark.parametrize("dtype", ["O", [("Ohm", "<i4"), ("it", "O")], [("nested", [("it", "O", 2)])]])
def test_rows_are_never_objects(opened: Opened, dtype: Any) -> None:
    """What arrived would be taken for addresses of objects, and what is sent are addresses of this process."""
    publication, subscription = opened
    array = np.zeros(1, dtype=dtype)
    publication.offer(bytes(array.itemsize))
    with pytest.raises(TypeError, match="objects"):
        subscription.poll_into(array)
    with pytest.raises(TypeError, match="objects"):
        subscription.images[0].poll_into(array)
    with pytest.raises(TypeError, match="objects"):
        publication.offer_many(array)
    with pytest.raises(TypeError, match="objects"):
        subscription.poll_into((ctypes.py_object * 1)())
    with subscription.poll_block(4096) as block, pytest.raises(TypeError, match="objects"):
        block.records(dtype)
    publication.offer(bytes(array.itemsize))
    with pytest.raises(ValueError, match="OBJECT"):
        subscription.poll_many(1).array(dtype)


def test_names_of_fields_are_not_taken_for_objects(opened: Opened) -> None:
    publication, subscription = opened
    array = np.zeros(1, dtype=[("Ohm", "<i4"), ("O", "<i8"), ("x", [("O", "u1")])])
    assert publication.offer_many(array) == 1
    assert subscription.poll_into(array) == 1
