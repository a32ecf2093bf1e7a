"""A driver and a client without threads, all of whose work is done by one loop of the application."""

from __future__ import annotations

import gc
import threading

import pytest

from aerowire.base.errors import ClosedError
from aerowire.client import Aeron
from aerowire.driver import MediaDriver
from tests.support.processes import free_port
from tests.support.waiting import wait_until

LIMIT_S = 10.0
MESSAGES = [bytes([number]) * (number * 37 % 5_000) for number in range(200)]


@pytest.fixture
def driver() -> MediaDriver:
    return MediaDriver.launch_embedded(threading_mode="INVOKER", environ={})


def test_one_thread_does_the_work_of_driver_and_client(driver: MediaDriver) -> None:
    threads = threading.active_count()
    with driver, Aeron.connect(driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=driver.invoker) as aeron:
        client = aeron.conductor_agent_invoker
        assert client is not None
        channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        subscription, publication = aeron.add_subscription(channel, 7), aeron.add_publication(channel, 7)
        got = bytearray()
        unsent = list(MESSAGES)

        def work() -> None:
            if unsent and publication.offer(unsent[0]) > 0:
                del unsent[0]
            driver.invoker.invoke()
            client.invoke()
            subscription.poll(lambda buffer, offset, length, _header: got.extend(buffer[offset : offset + length]), 10)

        wait_until(lambda: len(got) >= sum(map(len, MESSAGES)), "messages are missing", work=work)
        assert threading.active_count() == threads
    assert got == b"".join(MESSAGES)


def test_streams_that_were_removed_are_freed_at_once(driver: MediaDriver) -> None:
    gc.collect()
    gc.disable()
    try:
        with driver, Aeron.connect(driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=driver.invoker) as aeron:
            client = aeron.conductor_agent_invoker
            assert client is not None

            def work() -> None:
                driver.invoker.invoke()
                client.invoke()

            channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|linger=0"
            with aeron.add_subscription(channel, 7) as subscription, aeron.add_publication(channel, 7) as publication:
                wait_until(lambda: publication.is_connected and len(subscription.images) == 1, "not connected", work=work)
                assert streams() == ["NetworkPublication", "PublicationImage"]
            wait_until(lambda: not streams(), streams, work=work)
    finally:
        gc.enable()


def streams() -> list[str]:
    """Return the kinds of the native streams of this process, of which a driver has one object each."""
    return sorted(kind for kind in (type(one).__name__ for one in gc.get_objects()) if kind in {"NetworkPublication", "PublicationImage"})


def test_a_client_with_threads_has_no_invoker(driver: MediaDriver) -> None:
    with driver, Aeron.connect(driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=driver.invoker) as aeron:
        invoker = aeron.conductor_agent_invoker
        assert invoker is not None
        invoker.invoke()
    with pytest.raises(ClosedError):
        invoker.invoke()
    with MediaDriver.launch_embedded(environ={}) as threaded, Aeron.connect(threaded.aeron_dir) as aeron:
        assert aeron.conductor_agent_invoker is None
