"""Rules of connections, ends and what is left: each finds what breaks it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from aerowire.base.errors import RegistrationError
from aerowire.client import Aeron
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.simulation.scenarios import run as runs
from aerowire.simulation.scenarios import traffic
from aerowire.simulation.scenarios.checkers import CHECKERS, Checker, Connections, Ends, Leftovers, Lives
from aerowire.simulation.scenarios.churn import COUNTER_TYPE_ID
from aerowire.simulation.scenarios.plan import MS, SECOND, Kind, Medium, Misfortune, Scenario, StreamPlan
from aerowire.simulation.scenarios.run import Run

PAIR = Scenario(name="pair", about="two hosts", hosts=(2, 2), duration_s=(5, 5), streams=(1, 1), media=(Medium.UDP,), rate=(20, 20))
BUSY = dataclasses.replace(
    PAIR, readers=(3, 3), poll_ms=(20.0, 300.0), rate=(50, 50), hold=0.5, hold_ms=(1.0, 20.0), end=1.0, end_after=(20, 20), churn=1.0
)
STEP = 300  # by which everything is connected


def fail(scenario: Scenario, *checkers: type[Checker], seed: int = 1) -> str:
    failure = Run(scenario.plan(seed), checkers=checkers).execute().failure
    assert failure is not None
    return failure


def test_publishers_that_end_are_followed_by_others() -> None:
    lines: list[str] = []
    run = Run(BUSY.plan(1), checkers=CHECKERS, on_event=lines.append)
    outcome = run.execute()
    assert outcome.is_well, outcome.failure
    starts = [line for line in lines if "publisher" in line and "starts" in line]
    assert len(starts) > 3
    # Those that ended did so after 20 messages, and the last one goes on until the end of all.
    assert [run.life_of(number + 1).sent for number in range(len(starts) - 1)] == [20] * (len(starts) - 1)
    assert {place for _, place in run.received_since_recovery()} == {0, 1, 2}


class Refused:
    """A command that the driver has refused."""

    def __init__(self, code: ErrorCode) -> None:
        self._code = code
        self.is_done = True

    def poll(self) -> bool:
        return True

    def result(self) -> None:
        raise RegistrationError("the endpoint is closing", error_code=self._code)


def refuse_first(monkeypatch: pytest.MonkeyPatch, code: ErrorCode) -> list[str]:
    """Let the first command that adds a publication be refused; return the channels of all such commands."""
    asked: list[str] = []
    add = Aeron.async_add_exclusive_publication

    def adding(aeron: Aeron, channel: str, stream_id: int) -> Any:
        asked.append(channel)
        return Refused(code) if len(asked) == 1 else add(aeron, channel, stream_id)

    monkeypatch.setattr(Aeron, "async_add_exclusive_publication", adding)
    return asked


def test_what_a_driver_cannot_give_now_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = refuse_first(monkeypatch, ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE)
    outcome = Run(PAIR.plan(1)).execute()
    assert outcome.is_well, outcome.failure
    assert len(asked) == 2


def test_what_a_driver_refuses_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_first(monkeypatch, ErrorCode.INVALID_CHANNEL)
    with pytest.raises(RegistrationError, match="the endpoint is closing"):
        Run(PAIR.plan(1)).execute()


def test_a_client_that_is_given_up_is_found() -> None:
    class Meddling(Checker):
        def on_step(self, run: Run) -> None:
            if run.world.steps == STEP:
                counters = run.subscribers()[0].host.cnc.counters_manager()
                for info in counters.for_each():
                    if info.type_id == CounterType.CLIENT_HEARTBEAT:
                        counters.set_value(info.counter_id, 0)

    failure = fail(PAIR, Meddling, Lives)
    assert "a running client is not given up: at subscriber 0 of stream 0 at 10.0.0." in failure
    assert "its client has ended" in failure


def test_a_client_that_stood_still_may_be_given_up() -> None:
    plan = PAIR.plan(1)
    pauses = tuple(Misfortune(SECOND + host, Kind.PAUSE, host, 7_000 * MS, seed) for host in (0, 1) for seed in range(3))
    plan = dataclasses.replace(plan, duration_ns=20 * SECOND, misfortunes=pauses)
    lines: list[str] = []
    outcome = Run(plan, checkers=(Lives,), on_event=lines.append).execute()
    assert outcome.is_well, outcome.failure
    assert sum("starts" in line for line in lines) > 4  # two drivers and two applications, and those that took their places


def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let publishers send to where no subscriber is."""
    channel_of = traffic.channel_of

    def elsewhere(stream: StreamPlan, subscriber: int | None = None) -> str:
        return "aeron:udp?endpoint=10.0.0.9:1" if subscriber is None else channel_of(stream, subscriber)

    monkeypatch.setattr(traffic, "channel_of", elsewhere)


def test_two_sides_that_never_meet_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    apart(monkeypatch)
    failure = fail(dataclasses.replace(PAIR, duration_s=(20, 20)), Connections)
    assert "s: two sides that run are connected: at publisher 1 of stream 0 at 10.0.0." in failure
    assert 10 < float(failure.split(" s: ")[0].split(", ")[1]) < 10.7


@pytest.mark.parametrize("change", [{"loss": (0.6, 0.6)}, {"latency_ms": (800.0, 800.0)}])
def test_two_sides_may_miss_each_other_on_a_network_that_lets_little_pass(monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]) -> None:
    apart(monkeypatch)
    failure = fail(dataclasses.replace(PAIR, duration_s=(20, 20), **change), Connections)
    assert "a running application is connected: at publisher 1 of stream 0" in failure


def test_a_client_that_stood_still_long_ago_is_not_excused() -> None:
    class Meddling(Checker):
        def on_step(self, run: Run) -> None:
            if run.world.clock.now_ns() - run.begun_ns > 15 * SECOND:
                counters = run.subscribers()[0].host.cnc.counters_manager()
                for info in counters.for_each():
                    if info.type_id == CounterType.CLIENT_HEARTBEAT:
                        counters.set_value(info.counter_id, 0)

    plan = PAIR.plan(1)
    pauses = tuple(Misfortune(SECOND, Kind.PAUSE, host, 1_000 * MS, seed) for host in (0, 1) for seed in range(6))
    plan = dataclasses.replace(plan, duration_ns=20 * SECOND, misfortunes=pauses)
    failure = Run(plan, checkers=(Lives, Meddling)).execute().failure
    assert failure is not None
    assert "a running client is not given up: at " in failure


def test_what_is_not_connected_is_found() -> None:
    class Meddling(Checker):
        def on_recovered(self, run: Run) -> None:
            run.subscribers()[0].close()

    assert "a running application is connected: at subscriber 0 of stream 0" in fail(PAIR, Meddling, Connections)


def test_what_is_connected_to_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "PARTED_NS", 1 * MS)
    failure = fail(PAIR, Connections)
    assert "one side alone is not connected: at subscriber 0 of stream 0" in failure
    assert "no connection without its other side" in failure


def test_an_end_without_the_last_message_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Boastful(traffic.Publisher):
        def close(self) -> None:
            self.life.sent += 1
            super().close()

    monkeypatch.setattr(runs, "Publisher", Boastful)
    failure = fail(dataclasses.replace(BUSY, hold=0.0), Ends)
    assert "a stream ends with its last message: at subscriber " in failure
    assert "expected message 20 of publisher 1; saw the end after message 19" in failure


def test_an_end_of_a_publisher_that_goes_on_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Revoking(traffic.Publisher):
        """Closes its publication alone, and goes on as a client."""

        def close(self) -> None:
            self.client.aeron.async_remove_publication(self.pending.result().registration_id)  # type: ignore[union-attr]

    monkeypatch.setattr(runs, "Publisher", Revoking)
    failure = fail(dataclasses.replace(BUSY, hold=0.0, churn=0.0), Ends)
    assert "a stream ends with its publisher: at subscriber " in failure
    assert "expected more of publisher 1, which goes on; saw the end after message 19" in failure


def test_an_image_that_comes_back_is_found() -> None:
    class Meddling(Checker):
        def on_step(self, run: Run) -> None:
            if run.world.steps == STEP:
                subscriber = run.subscribers()[0]
                assert subscriber._subscription is not None
                subscriber._on_unavailable(subscriber._subscription.images[0])

    assert "an image that has gone does not come back: at stream 0" in fail(PAIR, Meddling)


def test_a_port_that_is_left_is_found() -> None:
    class Forgetful(Checker):
        def on_parted(self, run: Run) -> None:
            host = run.drivers()[0]
            process = host.driver_process
            process.add_socket(run.world.network.open_port((host.address, 5_555), host=host.address, inbox=process.inbox))

    failure = fail(PAIR, Forgetful, Leftovers)
    assert "the dead leave nothing behind: at 10.0.0.1: expected the driver's own ports; saw ['10.0.0.1:5555']" in failure


@pytest.mark.parametrize("kind", ["mappings", "locks"])
def test_a_mapping_and_a_lock_that_are_left_are_found(kind: str) -> None:
    kept: list[object] = []

    class Forgetful(Checker):
        def on_recovered(self, run: Run) -> None:
            host = run.drivers()[0]
            driver = host.driver.conductor.core.ports
            if kind == "mappings":
                kept.append(driver.regions.map(f"{host.driver.aeron_dir}/cnc.dat"))
            else:
                lock = driver.files.open(f"{host.driver.aeron_dir}/loss-report.dat", writable=True)
                assert lock.lock()
                kept.append(lock)

    saw = "/dev/shm/aeron/cnc.dat" if kind == "mappings" else "/dev/shm/aeron/loss-report.dat"
    failure = fail(PAIR, Forgetful, Leftovers)
    assert f"the dead leave nothing behind: at 10.0.0.1: expected the driver's own {kind}; saw ['{saw}']" in failure


def test_a_counter_that_another_changes_is_found() -> None:
    class Meddling(Checker):
        def on_step(self, run: Run) -> None:
            for host in run.drivers() if run.world.steps > STEP else ():
                counters = host.cnc.counters_manager()
                for info in counters.for_each():
                    if info.type_id == COUNTER_TYPE_ID and info.value:
                        counters.set_value(info.counter_id, -1)

    assert "a counter is its owner's: at churner " in fail(BUSY, Meddling)
