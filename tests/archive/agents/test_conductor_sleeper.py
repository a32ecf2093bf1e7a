"""The sleep of the archive's conductor: what ends it. A sleep that nothing ends would last until its limit, which fails the test."""

from __future__ import annotations

import threading

from aerowire.archive.agents.agent_events import AgentEvents
from aerowire.archive.agents.conductor_sleeper import ConductorSleeper
from aerowire.base.idle import BackoffIdleStrategy, SleepingIdleStrategy, SleepingMillisIdleStrategy
from aerowire.client import Aeron
from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder
from aerowire.system.clock import SystemClock
from tests.archive.agents.archive_host import ArchiveHost
from tests.support.waiting import no_longer_than, wait_until

CHANNEL = "aeron:ipc?term-length=64k"
LIMIT_NS = 60_000_000_000
SHORT_S = 30.0


class Sleep:
    """A sleeper whose driver says what a test writes."""

    def __init__(self, events: AgentEvents | None = None) -> None:
        self.to_clients = bytearray(1024 + BroadcastTrailerDecoder.ENCODED_LENGTH)
        self.sleeper = ConductorSleeper(BackoffIdleStrategy(), SystemClock(), events or AgentEvents(), self.to_clients)
        self.sleeper.has_answers()

    def say(self, octets: int) -> None:
        """Let the driver have said so much."""
        offset = 1024 + BroadcastTrailerDecoder.TAIL_OFFSET
        self.to_clients[offset : offset + 8] = octets.to_bytes(8, "little")

    def sleep(self) -> None:
        """Sleep until something happens that has happened already."""
        with no_longer_than(SHORT_S, "nothing has ended the sleep"):
            self.sleeper.sleep(LIMIT_NS)


def test_the_answer_of_a_driver_ends_it_until_it_was_looked_at() -> None:
    sleep = Sleep()
    assert not sleep.sleeper.has_answers()
    sleep.say(64)
    sleep.sleep()
    sleep.sleep()
    assert sleep.sleeper.has_answers()
    assert not sleep.sleeper.has_answers()


def test_a_wake_up_ends_one_sleep() -> None:
    sleep = Sleep()
    sleep.sleeper.wake()
    sleep.sleep()
    sleep.sleeper.take_slept_ns()
    sleep.sleeper.sleep(2_000_000)
    assert sleep.sleeper.take_slept_ns() >= 2_000_000
    assert sleep.sleeper.take_slept_ns() == 0


def test_it_idles_once_when_there_is_no_time() -> None:
    sleeper = ConductorSleeper(SleepingIdleStrategy(3_000_000), SystemClock(), AgentEvents(), Sleep().to_clients)
    sleeper.sleep(0)
    assert sleeper.take_slept_ns() >= 3_000_000


def test_a_park_that_becomes_longer_is_short_after_work() -> None:
    minute_ns = 60_000_000_000
    sleeper = ConductorSleeper(BackoffIdleStrategy(0, 0, minute_ns, minute_ns), SystemClock(), AgentEvents(), Sleep().to_clients)
    sleeper.start_over()
    with no_longer_than(SHORT_S, "it parks as long as the strategy says"):
        for _ in range(10):
            sleeper.sleep(0)


def test_an_event_of_an_agent_ends_it(archive: ArchiveHost) -> None:
    sleep = Sleep(archive.events)
    recorded = archive.record()
    archive.to_recorder.stop(recorded.session)
    for _ in range(10):
        archive.invoker.invoke()  # type: ignore[union-attr]
    sleep.sleep()
    archive.ended(recorded.session)
    sleep.sleeper.sleep(1_000_000)
    assert sleep.sleeper.take_slept_ns() >= 1_000_000


def test_an_event_of_an_agent_and_a_wake_up_end_a_park_that_goes_on(archive: ArchiveHost) -> None:
    sleeper = ConductorSleeper(SleepingMillisIdleStrategy(60_000), SystemClock(), archive.events, Sleep().to_clients)
    sleeper.has_answers()
    recorded = archive.record()
    archive.to_recorder.stop(recorded.session)

    def end_recording() -> None:
        for _ in range(10):
            archive.invoker.invoke()  # type: ignore[union-attr]

    for happen in (end_recording, sleeper.wake):
        thread = threading.Thread(target=sleeper.sleep, args=(LIMIT_NS,), daemon=True)
        thread.start()
        thread.join(0.01)
        happen()
        thread.join(SHORT_S)
        assert not thread.is_alive()
        archive.events.poll()


def test_a_request_ends_it(client: Aeron) -> None:
    sleep = Sleep()
    with client.add_subscription(CHANNEL, 9) as subscription, client.add_exclusive_publication(CHANNEL, 9) as publication:
        wait_until(lambda: publication.is_connected and subscription.images, "no image")
        sleep.sleeper.watch(subscription.images)
        sleep.sleeper.sleep(1_000_000)
        assert sleep.sleeper.take_slept_ns() >= 1_000_000
        assert publication.offer(b"request") > 0
        sleep.sleep()
        assert subscription.poll(lambda *_: None, 10) == 1
        sleep.sleeper.sleep(1_000_000)
        assert sleep.sleeper.take_slept_ns() >= 1_000_000


def test_an_image_that_goes_ends_it_only_while_it_is_open(client: Aeron) -> None:
    sleep = Sleep()
    subscription = client.add_subscription(CHANNEL, 9)
    publication = client.add_exclusive_publication(CHANNEL, 9)
    wait_until(lambda: subscription.images, "no image")
    sleep.sleeper.watch(subscription.images)
    subscription.close()
    publication.close()
    sleep.sleeper.sleep(1_000_000)
    assert sleep.sleeper.take_slept_ns() >= 1_000_000


def test_news_is_what_would_end_a_sleep(client: Aeron) -> None:
    sleep = Sleep()
    with client.add_subscription(CHANNEL, 9) as subscription, client.add_exclusive_publication(CHANNEL, 9) as publication:
        wait_until(lambda: publication.is_connected and subscription.images, "no image")
        sleep.sleeper.watch(subscription.images)
        assert not sleep.sleeper.has_news()
        sleep.say(64)
        assert sleep.sleeper.has_news()
        assert sleep.sleeper.has_answers()
        for _ in range(2):
            assert not sleep.sleeper.has_news()
            assert publication.offer(b"request") > 0
            assert sleep.sleeper.has_news()
            assert subscription.poll(lambda *_: None, 10) == 1
