"""The end of a client: what it tells, what raises from then on, and what lingers."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from aerowire.base.errors import (
    AerowireError,
    BroadcastLappedError,
    ClientTimeoutError,
    ClosedError,
    DriverShutdownError,
    DriverTimeoutError,
)
from aerowire.base.units import INT64_MAX
from aerowire.client import (
    Aeron,
    Image,
    PublicationErrorFrame,
)
from aerowire.codecs.flyweights import cnc, commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.errors import ErrorCode
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver
from tests.client.test_conductor import CHANNEL


def ended(client: Aeron) -> AerowireError:
    try:
        for _ in range(3):
            client.invoke()
    except AerowireError as error:
        return error
    raise AssertionError("the client has not ended")


def assert_everything_raises(client: Aeron, kind: type[Exception], *handles: object) -> None:
    publication, subscription, counter = handles
    calls: list[Callable[[], object]] = [
        lambda: client.add_publication(CHANNEL, 1),
        lambda: client.add_subscription(CHANNEL, 1),
        lambda: client.counters_reader,
        lambda: publication.offer(b"x"),  # type: ignore[attr-defined]
        lambda: publication.offer_many([b"x"]),  # type: ignore[attr-defined]
        lambda: publication.try_claim(1),  # type: ignore[attr-defined]
        lambda: subscription.poll(lambda *_: None),  # type: ignore[attr-defined]
        lambda: subscription.poll_many(1),  # type: ignore[attr-defined]
        lambda: subscription.poll_block(1),  # type: ignore[attr-defined]
        lambda: counter.value,  # type: ignore[attr-defined]
    ]
    for call in calls:
        with pytest.raises(kind):
            call()


@pytest.mark.parametrize("reason", ["timeout", "shutdown", "dropped", "heartbeat", "lapped"])
def test_everything_ends_with_the_client_and_says_why(connect: Callable[..., Aeron], driver: FakeDriver, reason: str) -> None:
    errors: list[BaseException] = []
    gone: list[Image] = []
    client = connect(error_handler=errors.append, unavailable_image_handler=gone.append, keepalive_interval_ns=1)
    publication = client.add_publication(CHANNEL, 10)
    subscription = client.add_subscription(CHANNEL, 10)
    counter = client.add_counter(1000, "mine")
    driver.cycle(client)
    client.invoke()
    driver.is_dead = True
    pending = client.async_add_publication(CHANNEL, 11)
    kind: type[AerowireError] = DriverTimeoutError
    if reason == "timeout":
        driver.ring.consumer_heartbeat_ms = 1
    elif reason == "shutdown":
        driver.ring.consumer_heartbeat_ms = cnc.CONSUMER_HEARTBEAT_CLOSED
        kind = DriverShutdownError
    elif reason == "dropped":
        driver.give_up(client.client_id)
        kind = ClientTimeoutError
    elif reason == "heartbeat":
        driver.counters.free(driver.heartbeats[client.client_id])
        kind = ClientTimeoutError
    else:
        for _ in range(5000):
            driver.give_up(client.client_id + 1_000_000)
        kind = BroadcastLappedError
    assert isinstance(ended(client), kind)
    assert [type(error) for error in errors] == [kind]
    assert len(gone) == 1
    assert client.is_closed
    assert publication.is_closed
    assert subscription.is_closed
    assert_everything_raises(client, kind, publication, subscription, counter)
    with pytest.raises(kind):
        pending.result()
    client.close()
    client.close()
    assert_everything_raises(client, kind, publication, subscription, counter)


def test_another_driver_in_the_directory_is_noticed(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    client = connect()
    publication = client.add_publication(CHANNEL, 10)
    path = driver.directory / "cnc.dat"
    copy = path.with_suffix(".new")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)

    def work() -> None:
        driver.invoke()
        with contextlib.suppress(DriverTimeoutError):
            client.invoke()

    wait_until(lambda: client.is_closed, "the client goes on", work=work)
    with pytest.raises(DriverTimeoutError, match="another one"):
        publication.offer(b"x")


def test_a_closed_client_raises_closed_error(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    client = connect()
    closed: list[int] = []
    client.add_close_handler(lambda: closed.append(1))
    publication = client.add_publication(CHANNEL, 10)
    subscription = client.add_subscription(CHANNEL, 10)
    counter = client.add_counter(1, "c")
    client.close()
    client.close()
    assert closed == [1]
    assert_everything_raises(client, ClosedError, publication, subscription, counter)
    driver.invoke()
    assert driver.last(CommandType.CLIENT_CLOSE)
    publication.close()
    subscription.close()
    counter.close()
    assert "is_closed=True" in repr(client)


def test_a_rejected_stream_is_reported(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    frames: list[PublicationErrorFrame] = []
    client = connect(publication_error_frame_handler=frames.append)
    publication = client.add_publication(CHANNEL, 10)
    for registration_id in (publication.original_registration_id, 999):
        driver.transmitter.transmit(
            CommandType.ON_PUBLICATION_ERROR,
            commands.PublicationErrorFrameEncoder.encode(
                registration_id=registration_id,
                destination_registration_id=-1,
                session_id=publication.session_id,
                stream_id=10,
                receiver_id=5,
                group_tag=-1,
                address_type=commands.AddressType.IPV4,
                source_port=4000,
                source_address=bytes([127, 0, 0, 1]) + bytes(12),
                error_code=ErrorCode.IMAGE_REJECTED,
                error_message="no",
            ),
        )
    client.invoke()
    assert len(frames) == 1
    assert (frames[0].source_address, frames[0].group_tag, frames[0].error_message) == ("127.0.0.1:4000", None, "no")


def test_logs_of_closed_handles_linger_and_go(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    client = connect(resource_linger_duration_ns=0)
    subscription = client.add_subscription(CHANNEL, 10)
    client.add_publication(CHANNEL, 10)
    driver.cycle(client)
    image = subscription.images[0]
    driver.drop_images(driver.streams[0])
    client.invoke()
    assert image.is_closed
    client.invoke()
    assert client._conductor.next_deadline_ns() == INT64_MAX


def test_what_nobody_handles_is_logged(connect: Callable[..., Aeron], driver: FakeDriver, caplog: pytest.LogCaptureFixture) -> None:
    client = connect()
    driver.ring.consumer_heartbeat_ms = cnc.CONSUMER_HEARTBEAT_CLOSED
    with caplog.at_level(logging.ERROR, logger="aerowire.client"):
        ended(client)
    assert "DriverShutdownError" in caplog.text
