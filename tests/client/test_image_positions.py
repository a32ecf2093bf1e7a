"""Where images begin and end, which is polled first, and what stays safe when all is closed."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np

from aerowire.client import Aeron

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver
from tests.client.test_image import CHANNEL, ignore


def test_blocks_step_over_padding_into_the_next_term(aeron: Aeron, driver: FakeDriver) -> None:
    subscription = aeron.add_subscription(CHANNEL, 10)
    publication = aeron.add_exclusive_publication(CHANNEL, 10)
    driver.cycle(aeron)
    got = []
    for index in range(100):
        while publication.offer(index.to_bytes(2, "little") * 650) < 0:
            driver.invoke()
        with subscription.poll_block(65536) as block:
            got += [int.from_bytes(view[:2].tobytes(), "little") for view in block.payloads()]
    assert publication.position > 65536
    assert got == list(range(100))


def test_views_stay_safe_after_everything_is_closed(aeron: Aeron, driver: FakeDriver) -> None:
    subscription = aeron.add_subscription(CHANNEL, 10)
    publication = aeron.add_publication(CHANNEL, 10)
    driver.cycle(aeron)
    publication.offer(b"0123456789")
    kept: list[Any] = []
    subscription.poll(lambda buffer, offset, length, header: kept.extend([buffer, buffer[offset : offset + length], header]))
    publication.offer(b"9876543210")
    block = subscription.poll_block(4096)
    kept += [block.data, block.buffer, block]
    claim = publication.try_claim(8)
    kept += [claim, claim.buffer, np.frombuffer(claim.buffer, dtype=np.uint8)]
    path = driver.streams[0].path
    subscription.close()
    publication.close()
    aeron.close()
    path.unlink()
    driver.streams.clear()
    gc.collect()
    assert bytes(kept[1]) == b"0123456789"
    assert kept[2].payload() == b"0123456789"
    assert kept[3].nbytes == 64
    block.release()
    claim.commit()
    kept.clear()
    del block, claim
    gc.collect()


def test_polls_begin_with_another_image_each_time(aeron: Aeron, driver: FakeDriver) -> None:
    subscription = aeron.add_subscription(CHANNEL, 10)
    publications = [aeron.add_exclusive_publication(CHANNEL, 10) for _ in range(3)]
    driver.cycle(aeron)
    for publication in publications:
        publication.offer_many([b"x"] * 4)
    order: list[int] = []
    for _ in range(3):
        subscription.poll(lambda _b, _o, _l, header: order.append(header.session_id), 1)
    assert sorted(order) == sorted(publication.session_id for publication in publications)
    assert subscription.poll(ignore, 100) == 9
    for publication in publications:
        publication.offer_many([b"x"] * 2)
    batch = subscription.poll_many(100)
    assert len(batch) == 6
    assert len(set(batch.session_ids)) == 3


def test_an_image_tells_the_end_of_its_stream(aeron: Aeron, driver: FakeDriver) -> None:
    gone: list[Any] = []
    subscription = aeron.add_subscription(CHANNEL, 10, unavailable_image_handler=gone.append)
    publication = aeron.add_publication(CHANNEL, 10)
    driver.cycle(aeron)
    image = subscription.images[0]
    publication.offer(b"last")
    assert image.end_of_stream_position == (1 << 63) - 1
    assert not image.is_end_of_stream
    stream = driver.streams[0]
    publication.close()
    driver.cycle(aeron)
    assert image.end_of_stream_position == 64
    assert not image.is_end_of_stream
    assert subscription.poll(ignore) == 1
    assert image.is_end_of_stream
    driver.drop_images(stream)
    driver.cycle(aeron)
    assert gone == [image]
    assert image.is_closed
    assert (image.position, image.end_of_stream_position, image.is_end_of_stream) == (64, 64, True)
    assert image.poll(ignore) == 0
    assert image.poll_many(1) == []
    assert not image.poll_block(1)
    assert subscription.has_no_images
    assert not subscription.is_connected


def test_an_image_joins_where_the_driver_says(aeron: Aeron, driver: FakeDriver) -> None:
    publication = aeron.add_publication(CHANNEL, 10)
    stream = driver.streams[0]
    driver.counters.set_value(stream.limit_id, 10_000)
    publication.offer_many([b"early"] * 3)
    subscription = aeron.add_subscription("aeron:ipc?alias=late", 10)
    driver.join(stream, subscription.registration_id, position=publication.position)
    publication.offer(b"late")
    driver.cycle(aeron)
    image = subscription.images[0]
    assert image.join_position == 192
    assert subscription.poll_many(10) == [b"late"]
    assert subscription.image_by_session_id(publication.session_id) is image
    assert subscription.image_by_session_id(1) is None
    assert subscription.image_at_index(0) is image
    assert image.subscription is subscription
    assert image.source_identity == "aeron:ipc"
