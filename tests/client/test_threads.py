"""Many threads at once on one client and one embedded driver: what the thread sanitizer is to see (make tsan), checked for content too.

The driver's sender, receiver, conductor and conductor are threads of this process beside the client's conductor and keepalive, so that both
ends of every queue and every log are in its sight.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from aerowire.client import Aeron, FragmentAssembler, Publication, Subscription, wait_for
from aerowire.driver import MediaDriver
from tests.support.processes import free_port

pytestmark = pytest.mark.threads

LIMIT_NS = 60_000_000_000
STREAM = 1001
TERM = 65536
MESSAGES = 200
BATCH = 8
ROW_LENGTH = 64
LENGTHS = (16, 700, 1_380, 3_000, 6_000)  # in one frame, about a datagram, fragmented; MESSAGES of them wrap the term several times


@pytest.fixture(scope="module", params=["DEDICATED", "SHARED_NETWORK"])
def driver(request: pytest.FixtureRequest) -> Iterator[MediaDriver]:
    with MediaDriver.launch_embedded(
        threading_mode=request.param,
        term_buffer_length=TERM,
        ipc_term_buffer_length=TERM,
        publication_linger_timeout_ns=100_000_000,
        timer_interval_ns=1_000_000,
    ) as driver:
        yield driver


@pytest.fixture(scope="module")
def aeron(driver: MediaDriver) -> Iterator[Aeron]:
    with Aeron.connect(aeron_dir=driver.aeron_dir, keepalive_interval_ns=1_000_000) as client:
        yield client


@pytest.fixture(params=["ipc", "udp"])
def channel(request: pytest.FixtureRequest) -> str:
    return "aeron:ipc" if request.param == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


def message(who: int, index: int) -> bytes:
    return b"%d:%d:" % (who, index) + bytes([who]) * LENGTHS[index % len(LENGTHS)]


def until(condition: Callable[[], bool]) -> None:
    assert wait_for(condition, LIMIT_NS, sleep_max_s=0.001)


def offer_singly(publication: Publication, who: int) -> None:
    for index in range(MESSAGES):
        octets = message(who, index)
        until(lambda: publication.offer(octets) > 0)  # noqa: B023


def offer_in_batches(publication: Publication, who: int) -> None:
    waiting = [message(who, index) for index in range(MESSAGES)]

    def is_all_taken() -> bool:
        del waiting[: max(0, publication.offer_many(waiting[:BATCH]))]
        return not waiting

    until(is_all_taken)


def offer_rows(publication: Publication, who: int) -> None:
    octets = b"".join((b"%d:%d:" % (who, index)).ljust(ROW_LENGTH, b"\0") for index in range(MESSAGES))
    rows = np.frombuffer(octets, dtype=np.uint8).reshape(MESSAGES, ROW_LENGTH)
    taken = 0

    def is_all_taken() -> bool:
        nonlocal taken
        taken += max(0, publication.offer_many(rows[taken:]))
        return taken == MESSAGES

    until(is_all_taken)


def claim(publication: Publication, who: int) -> None:
    for index in range(MESSAGES):
        octets = b"%d:%d:" % (who, index)

        def is_written(octets: bytes = octets) -> bool:
            claimed = publication.try_claim(len(octets))
            if claimed:
                claimed.buffer[:] = octets
                claimed.commit()
            return bool(claimed)

        until(is_written)


WRITERS = (offer_singly, offer_singly, offer_in_batches, offer_rows, claim)


class Reader:
    """A subscription and the messages, as (writer, index), that its own thread takes from it."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.found: list[tuple[int, int]] = []
        self.assembler = FragmentAssembler(lambda _buffer, _offset, _length, header: self.take(header.payload()))

    def take(self, payload: bytes) -> None:
        who, index, _ = payload.split(b":", 2)
        self.found.append((int(who), int(index)))

    def read(self) -> None:
        until(lambda: self.subscription.poll(self.assembler, 20) >= 0 and len(self.found) >= MESSAGES * len(WRITERS))


def test_writers_readers_and_the_conductor_do_not_disturb_each_other(aeron: Aeron, channel: str) -> None:
    readers = [Reader(aeron.add_subscription(channel, STREAM)) for _ in range(2)]
    with aeron.add_publication(channel, STREAM) as publication:
        until(lambda: publication.is_connected and all(reader.subscription.is_connected for reader in readers))
        threads = [threading.Thread(target=write, args=(publication, who)) for who, write in enumerate(WRITERS)]
        threads += [threading.Thread(target=reader.read) for reader in readers]
        for thread in threads:
            thread.start()
        streams = 0
        while any(thread.is_alive() for thread in threads) or streams < 3:
            # Streams that come and go: the conductor hands objects to agents that are busy, and takes them back.
            streams += 1
            with (
                aeron.add_subscription(channel, STREAM + streams) as other,
                aeron.add_exclusive_publication(channel, STREAM + streams) as mine,
            ):
                until(lambda: mine.is_connected and other.is_connected)
                until(lambda: mine.offer(b"hello") > 0)
                until(lambda: other.poll(lambda *_: None) > 0)
        for thread in threads:
            thread.join()
    for reader in readers:
        for who in range(len(WRITERS)):
            assert [index for writer, index in reader.found if writer == who] == list(range(MESSAGES))
        reader.subscription.close()


def test_a_client_that_comes_and_goes_does_not_disturb_another(aeron: Aeron, driver: MediaDriver) -> None:
    for _ in range(3):
        with Aeron.connect(aeron_dir=driver.aeron_dir, keepalive_interval_ns=1_000_000) as another:
            with another.add_subscription("aeron:ipc", STREAM) as subscription, aeron.add_publication("aeron:ipc", STREAM) as publication:
                until(lambda: publication.offer(b"hello") > 0)
                until(lambda: subscription.poll(lambda *_: None) > 0)
            assert not another.is_closed
    assert not aeron.is_closed
