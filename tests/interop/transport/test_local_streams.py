"""Streams that stay on one machine's driver: spies, simulated connections, subscribers that are left behind, rejection, dead claims."""

from __future__ import annotations

import time

import pytest

from tests.interop.harness import Driver, Side
from tests.interop.scenarios import LIMIT_S, STREAM, End, Scenario, counters, order, other
from tests.support.processes import Process, free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

BOTH_WAYS = pytest.mark.parametrize("publishing", ["official", "aerowire"])
DRIVING = pytest.mark.parametrize("driving", ["aerowire", "official"])
FAST_TIMERS = {"aeron.timer.interval": "100ms"}
CLAIMED = 640


def wait_until(driver: Driver, label: str, *, is_there: bool, part: str = "") -> None:
    """Wait until a driver has, or has no more, counters of a label that holds `part`."""
    deadline = time.monotonic() + LIMIT_S
    while any(part in found for found in counters(driver, label)) is not is_there:
        assert time.monotonic() < deadline, f"{label} {part}: expected {is_there}, actual {counters(driver, label)}"
        time.sleep(0.02)


def await_counter(driver: Driver, label: str) -> None:
    """Wait until a counter of a label has counted something."""
    deadline = time.monotonic() + LIMIT_S
    while not any(counters(driver, label).values()) and time.monotonic() < deadline:
        time.sleep(0.02)


def spy_positions(driver: Driver) -> list[int]:
    return [value for label, value in counters(driver, "sub-pos").items() if "aeron-spy:" in label]


def prove_spy(scenario: Scenario, driver: Driver, position: int) -> None:
    assert spy_positions(driver) == [position]
    scenario.observed(f"sub-pos of the spy ({driver.side} driver)")


@BOTH_WAYS
@DRIVING
def test_a_spy_reads_beside_a_receiver(scenario: Scenario, driving: Side, publishing: Side) -> None:
    scenario.feature("Spy beside a receiver")
    driver = scenario.driver(driving)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    stream = scenario.stream()
    stream.subscribe(End(other(publishing), driver), f"aeron-spy:{channel}")
    stream.subscribe(End(publishing, driver), channel)
    stream.publish(End(publishing, driver), channel)
    sent = stream.compare()
    prove_spy(scenario, driver, sent["position"])
    stream.finish()
    scenario.finish()


@BOTH_WAYS
@DRIVING
def test_a_spy_stands_for_a_connection(scenario: Scenario, driving: Side, publishing: Side) -> None:
    scenario.feature("Spy that simulates a connection")
    driver = scenario.driver(driving)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    stream = scenario.stream()
    stream.subscribe(End(other(publishing), driver), f"aeron-spy:{channel}")
    stream.publish(End(publishing, driver), f"{channel}|ssc=true")
    sent = stream.compare()
    prove_spy(scenario, driver, sent["position"])
    assert max(counters(driver, "Status Messages received").values()) == 0
    scenario.prove(driver, "snd-pos", at_least=sent["position"])
    stream.finish()
    scenario.finish()


@BOTH_WAYS
def test_a_spy_finds_its_channel_by_tag(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Spy by channel tag")
    driver = scenario.driver(other(publishing))
    stream = scenario.stream()
    stream.subscribe(End(other(publishing), driver), "aeron-spy:aeron:udp?tags=9")
    stream.publish(End(publishing, driver), f"aeron:udp?endpoint=127.0.0.1:{free_port()}|tags=9|ssc=true")
    sent = stream.compare()
    prove_spy(scenario, driver, sent["position"])
    stream.finish()
    scenario.finish()


def stalled(scenario: Scenario, end: End, channel: str) -> Process:
    """Return a subscriber that never reads; what it is told of its images is the test's to see."""
    peer = scenario.bench.peer(
        end.side, "subscriber", end.driver, channel=channel, stream=STREAM, messages=10**9, timeout=int(LIMIT_S), images="true"
    )
    wait_until(end.driver, "client-heartbeat", is_there=True)
    order(peer, "pause")
    return peer


def image_event(peer: Process) -> bool:
    return bool(peer.event("image", LIMIT_S)["available"])


@pytest.mark.parametrize("media", ["ipc", "udp", "spy"])
@DRIVING
def test_an_untethered_subscriber_is_left_behind_and_comes_back(scenario: Scenario, driving: Side, media: str) -> None:
    scenario.feature(f"Untethered subscriber, {media.upper() if media != 'spy' else media}")
    timeouts = {
        "aeron.untethered.window.limit.timeout": "300ms",
        "aeron.untethered.linger.timeout": "200ms",
        "aeron.untethered.resting.timeout": "400ms",
    }
    driver = scenario.driver(driving, {**FAST_TIMERS, **timeouts})
    channel = "aeron:ipc" if media == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    prefix = "aeron-spy:" if media == "spy" else ""
    slow = stalled(scenario, End(other(driving), driver), f"{prefix}{channel}{'|' if '?' in channel else '?'}tether=false")
    stream = scenario.stream()
    stream.subscribe(End(driving, driver), f"{prefix}{channel}")
    stream.publish(End(other(driving), driver), f"{channel}|ssc=true" if media == "spy" else channel)
    assert [image_event(slow) for _ in range(3)] == [True, False, True]
    stream.compare()
    scenario.observed("its image went and came again while others read on")
    slow.stop()
    stream.finish()
    scenario.finish()


@BOTH_WAYS
@DRIVING
def test_a_rejected_ipc_image_comes_back_after_its_cool_down(scenario: Scenario, driving: Side, publishing: Side) -> None:
    scenario.feature("Rejection of an IPC image")
    driver = scenario.driver(driving, {**FAST_TIMERS, "aeron.image.liveness.timeout": "1s"})
    stream = scenario.stream()
    subscriber = stream.subscribe(End(other(publishing), driver), "aeron:ipc")
    stream.publish(End(publishing, driver), "aeron:ipc")
    stream.compare()
    order(subscriber, "reject seen enough")
    wait_until(driver, "sub-pos", is_there=False)
    wait_until(driver, "sub-pos", is_there=True)
    scenario.prove(driver, "Images rejected")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("media", ["ipc", "udp"])
@BOTH_WAYS
def test_a_claim_of_the_dead_is_unblocked(scenario: Scenario, publishing: Side, media: str) -> None:
    scenario.feature(f"Claim left open by a killed publisher, {media.upper()}")
    # Those who live must be heard within the time after which the dead one is given up.
    timeouts = {"aeron.publication.unblock.timeout": "5s", "aeron.client.liveness.timeout": "4s"}
    driver = scenario.driver(other(publishing), {**FAST_TIMERS, **timeouts})
    channel = "aeron:ipc" if media == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    stream = scenario.stream()
    stream.subscribe(End(other(publishing), driver), channel)
    sized = f"{channel}{'|' if '?' in channel else '?'}term-length={stream.term_length}"
    dead = scenario.bench.peer(
        publishing, "publisher", driver, channel=sized, stream=STREAM, messages=0, seed=1, length_max=1, timeout=int(LIMIT_S)
    )
    dead.outcome("publisher", LIMIT_S)
    stream.publish(End(other(publishing), driver), channel)
    order(dead, f"claim {CLAIMED}")
    dead.popen.kill()
    stream.compare()
    # A claim behind the last message holds up nobody; the driver ends it all the same, later.
    await_counter(driver, "Unblocked Publications")
    scenario.prove(driver, "Unblocked Publications")
    stream.finish()
    scenario.finish()


@BOTH_WAYS
@pytest.mark.parametrize("media", ["ipc", "udp"])
def test_an_exclusive_publication_starts_where_it_is_told(scenario: Scenario, publishing: Side, media: str) -> None:
    scenario.feature(f"Exclusive publication from a given position, {media.upper()}")
    driver = scenario.driver(other(publishing))
    channel = "aeron:ipc?" if media == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}|"
    stream = scenario.stream()
    stream.subscribe(End(other(publishing), driver), channel.rstrip("?|"))
    start = stream.term_length * 3 + 4096
    stream.publish(End(publishing, driver), f"{channel}init-term-id=2147483646|term-id=-2147483647|term-offset=4096", exclusive="true")
    sent = stream.compare()
    assert sent["position"] >= start + sent["bytes"]
    (joined,) = {label.rpartition("@")[2] for label in counters(driver, "sub-pos")}
    assert joined == str(start)
    scenario.observed(f"sub-pos @{start}")
    stream.finish()
    scenario.finish()
