"""Connecting and closing without waiting, in literal times; and what happens where nothing may wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aerowire.base.errors import (
    AerowireError,
    BlockingCallError,
    ClosedError,
    DriverDirectoryMissingError,
    DriverShutdownError,
    DriverTimeoutError,
    ForeignDirectoryError,
    RegistrationError,
)
from aerowire.base.units import INT64_MAX
from aerowire.client import Aeron, is_driver_active, next_correlation_id
from aerowire.client.conductor.driver_connection import ConnectState
from aerowire.codecs.flyweights.cnc import CONSUMER_HEARTBEAT_CLOSED
from aerowire.codecs.flyweights.commands import CommandType, RejectImageDecoder
from aerowire.simulation.one_thread import SimulatedThreads, SimulatedWaiting, SimulatedWakeup
from aerowire.simulation.processes import ProcessTable
from aerowire.system.clock import ManualClock
from aerowire.system.ports import Ports
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from aerowire.client.conductor.driver_connection import AsyncConnect
    from tests.client.conftest import FakeDriver

CHANNEL = "aeron:ipc"
MS = 1_000_000
SECOND = 1_000_000_000
TIMEOUT_NS = 10 * SECOND


class Stage:
    """The files of this machine, a clock that a test moves, and one thread in which nothing may wait."""

    def __init__(self) -> None:
        self.clock = ManualClock(now_ns=5 * SECOND, epoch_ms=1_700_000_000_000)
        self.ports = replace(
            Ports.system(),
            clock=self.clock,
            processes=ProcessTable().begin(0),
            waiting=SimulatedWaiting(self.clock),
            threads=SimulatedThreads(),
            new_wakeup=SimulatedWakeup,
        )
        self.clients: list[Aeron] = []

    def start(self, directory: Path, **options: object) -> AsyncConnect[Aeron]:
        settings: dict[str, Any] = {"driver_timeout_ns": TIMEOUT_NS, "use_conductor_agent_invoker": True, **options}
        return Aeron.async_connect(directory, ports=self.ports, **settings)

    def connect(self, driver: FakeDriver, **options: object) -> Aeron:
        pending = self.start(driver.directory, **options)
        assert pending.poll()
        self.clients.append(pending.result())
        return self.clients[-1]


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    for client in made.clients:
        client.async_close().poll()


@pytest.fixture
def driver(stage: Stage, aeron_dir: Path, start_driver: type[FakeDriver]) -> FakeDriver:
    """A driver that goes by the stage's clock."""
    return start_driver(aeron_dir, now_ms=stage.clock.now_ms)


# ---- connecting


def looked(pending: AsyncConnect[Aeron]) -> ConnectState:
    """Look once, and return what is waited for then."""
    pending.poll()
    return pending.state


def test_a_connection_passes_through_its_states(stage: Stage, aeron_dir: Path, start_driver: type[FakeDriver]) -> None:
    pending = stage.start(aeron_dir)
    assert (pending.state, pending.problem) == (ConnectState.AWAIT_FILE, None)
    assert looked(pending) == ConnectState.AWAIT_FILE
    assert isinstance(pending.problem, DriverDirectoryMissingError)
    driver = start_driver(aeron_dir, now_ms=stage.clock.now_ms)
    version = memoryview(driver.cnc.region)[:4]  # type: ignore[arg-type]
    published, version[:] = bytes(version), bytes(4)
    assert looked(pending) == ConnectState.AWAIT_VERSION
    version[:] = published
    driver.ring.consumer_heartbeat_ms = 0
    assert looked(pending) == ConnectState.AWAIT_HEARTBEAT
    driver.ring.consumer_heartbeat_ms = stage.clock.now_ms()
    assert looked(pending) == ConnectState.CONNECTED
    assert pending.is_done
    client = pending.result()
    assert client is pending.result()
    assert not client.is_closed
    client.close()


def test_the_last_look_comes_after_the_deadline_and_says_what_was_in_the_way(stage: Stage, tmp_path: Path) -> None:
    pending = stage.start(tmp_path)
    stage.clock.advance(TIMEOUT_NS - 1)
    assert not pending.poll()
    with pytest.raises(RuntimeError, match="no answer yet"):
        pending.result()
    stage.clock.advance(1)
    assert pending.poll()
    assert pending.state == ConnectState.FAILED
    with pytest.raises(DriverDirectoryMissingError, match=r"cnc\.dat.*aerowire driver --dir"):
        pending.result()


def test_a_driver_that_comes_with_the_deadline_is_in_time(stage: Stage, aeron_dir: Path, start_driver: type[FakeDriver]) -> None:
    pending = stage.start(aeron_dir)
    assert not pending.poll()
    stage.clock.advance(TIMEOUT_NS)
    start_driver(aeron_dir, now_ms=stage.clock.now_ms)
    assert pending.poll()
    pending.result().close()


@pytest.mark.parametrize(("heartbeat_ms", "error"), [(1, DriverTimeoutError), (CONSUMER_HEARTBEAT_CLOSED, DriverShutdownError)])
def test_a_dead_driver_is_told_from_one_that_has_ended(
    stage: Stage, driver: FakeDriver, heartbeat_ms: int, error: type[AerowireError]
) -> None:
    driver.ring.consumer_heartbeat_ms = heartbeat_ms
    pending = stage.start(driver.directory)
    assert not pending.poll()
    assert pending.state == ConnectState.AWAIT_HEARTBEAT
    stage.clock.advance(TIMEOUT_NS)
    assert pending.poll()
    with pytest.raises(error):
        pending.result()


def test_a_foreign_file_is_refused_at_the_first_look(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "cnc.dat").write_bytes(b"something else" * 1000)
    pending = stage.start(tmp_path)
    assert pending.poll()
    with pytest.raises(ForeignDirectoryError):
        pending.result()


def test_a_connection_can_be_given_up(stage: Stage, tmp_path: Path, driver: FakeDriver) -> None:
    given_up = stage.start(tmp_path)
    given_up.cancel()
    assert given_up.poll()
    with pytest.raises(ClosedError, match="given up: connect to the driver"):
        given_up.result()
    done = stage.start(driver.directory)
    assert done.poll()
    done.abandon()
    assert done.result().is_closed


def test_a_driver_without_threads_is_invoked_by_each_look(stage: Stage, aeron_dir: Path, start_driver: type[FakeDriver]) -> None:
    class Starting:
        looks = 0

        def invoke(self) -> int:
            self.looks += 1
            if self.looks == 3:
                start_driver(aeron_dir, now_ms=stage.clock.now_ms)
            return 0

    starting = Starting()
    pending = stage.start(aeron_dir, driver_agent_invoker=starting)
    assert [pending.poll() for _ in range(3)] == [False, False, True]
    pending.result().close()


# ---- where nothing may wait


def blocking_calls(client: Aeron, driver: FakeDriver, ports: Ports) -> dict[str, Callable[[], object]]:
    """Each call that waits, by the form that it is to name."""
    asked = [
        client.async_add_publication(CHANNEL, 10),
        client.async_add_exclusive_publication(CHANNEL, 11),
        client.async_add_subscription(CHANNEL, 10),
    ]
    driver.cycle(client)
    publication, exclusive, subscription = (pending.result() for pending in asked)  # type: ignore[attr-defined]
    return {
        "Aeron.async_connect": lambda: Aeron.connect(driver.directory, ports=ports),
        "Aeron.async_add_publication": lambda: client.add_publication(CHANNEL, 1),
        "Aeron.async_add_exclusive_publication": lambda: client.add_exclusive_publication(CHANNEL, 1),
        "Aeron.async_add_subscription": lambda: client.add_subscription(CHANNEL, 1),
        "Aeron.async_add_counter": lambda: client.add_counter(1000),
        "Aeron.async_add_static_counter": lambda: client.add_static_counter(1000, registration_id=7),
        "Aeron.async_next_session_id": lambda: client.next_session_id(1),
        "Publication.async_add_destination": lambda: publication.add_destination(CHANNEL),
        "Subscription.async_remove_destination": lambda: subscription.remove_destination(CHANNEL),
        "Publication.offer": lambda: publication.send(b"x"),
        "ExclusivePublication.offer_many": lambda: exclusive.send_many([b"x"]),
        "Subscription.poll, or messages": subscription.messages,
        "Subscription.poll, or messages(timeout_ns=0)": lambda: subscription.views(timeout_ns="1ms"),
        "Image.async_reject": lambda: subscription.images[0].reject("no"),
        "is_driver_active(watches=False)": lambda: is_driver_active(driver.directory, ports=ports),
        "next_correlation_id(watches=False)": lambda: next_correlation_id(driver.directory, ports=ports),
    }


def test_every_call_that_waits_names_the_form_that_does_not_and_sends_nothing(stage: Stage, driver: FakeDriver) -> None:
    client = stage.connect(driver)
    calls = blocking_calls(client, driver, stage.ports)
    sent = len(driver.commands)
    for instead, call in calls.items():
        with pytest.raises(BlockingCallError) as raised:
            call()
        assert str(raised.value.expected).startswith(instead)
        assert raised.value.where == "a simulated world"
    driver.invoke()
    assert len(driver.commands) == sent
    assert not client.has_active_commands()


def test_forms_that_do_not_wait_are_there(stage: Stage, driver: FakeDriver) -> None:
    client = stage.connect(driver)
    pending = client.async_add_subscription(CHANNEL, 10)
    publication = client.async_add_publication(CHANNEL, 10)
    assert not pending.poll()
    driver.cycle(client)
    subscription = pending.result()
    assert publication.result().offer(b"message") > 0
    assert list(subscription.messages(timeout_ns=0)) == [b"message"]
    rejection = subscription.images[0].async_reject("not for me")
    assert not rejection.poll()
    driver.cycle(client)
    assert rejection.poll()
    assert RejectImageDecoder(driver.last(CommandType.REJECT_IMAGE)).reason == "not for me"
    refused = client.async_add_publication("aeron:ipc?alias=refuse", 1)
    driver.cycle(client)
    with pytest.raises(RegistrationError):
        refused.result()
    assert is_driver_active(driver.directory, watches=False, ports=stage.ports)
    assert next_correlation_id(driver.directory, watches=False, ports=stage.ports) > client.client_id


def test_a_client_needs_an_invoker_where_there_are_no_threads(stage: Stage, driver: FakeDriver) -> None:
    pending = stage.start(driver.directory, use_conductor_agent_invoker=False)
    assert pending.poll()
    with pytest.raises(BlockingCallError, match="use_conductor_agent_invoker=True"):
        pending.result()


def test_a_client_says_when_it_is_due(stage: Stage, driver: FakeDriver) -> None:
    client = stage.connect(driver, keepalive_interval_ns="500ms", resource_linger_duration_ns="200ms")
    pending = client.async_add_publication(CHANNEL, 10)
    client.invoke()
    assert client.next_deadline_ns() == stage.clock.now_ns() + 500 * MS
    driver.invoke()
    assert client.next_deadline_ns() <= stage.clock.now_ns()  # the driver has answered
    client.invoke()
    began_ns = stage.clock.now_ns()
    stage.clock.advance(50 * MS)
    pending.result().close()
    assert client.next_deadline_ns() == min(began_ns + 500 * MS, stage.clock.now_ns() + SECOND)
    client.async_close()
    assert client.next_deadline_ns() == INT64_MAX


# ---- closing


def commands_of(driver: FakeDriver) -> list[CommandType]:
    driver.invoke()
    return [command for command, _ in driver.commands]


def test_a_close_lingers_before_it_notifies_the_driver(stage: Stage, driver: FakeDriver) -> None:
    client = stage.connect(driver, close_linger_duration_ns="50ms")
    pending = client.async_add_publication(CHANNEL, 10)
    driver.cycle(client)
    with pytest.raises(BlockingCallError, match=r"Aeron\.close waits.*expected Aeron\.async_close"):
        client.close()
    assert not client.is_closed
    closing = client.async_close()
    assert client.is_closed
    assert pending.result().is_closed
    stage.clock.advance(50 * MS - 1)
    assert not closing.poll()
    assert CommandType.CLIENT_CLOSE not in commands_of(driver)
    stage.clock.advance(1)
    assert closing.poll()
    assert closing.result() is None
    assert commands_of(driver).count(CommandType.CLIENT_CLOSE) == 1
    assert client.async_close() is closing
    client.close()
    assert commands_of(driver).count(CommandType.CLIENT_CLOSE) == 1


def test_a_close_without_linger_does_not_wait(stage: Stage, driver: FakeDriver) -> None:
    client = stage.connect(driver)
    client.close()
    assert commands_of(driver) == [CommandType.CLIENT_CLOSE]


def test_a_close_cannot_be_given_up(stage: Stage, driver: FakeDriver) -> None:
    client = stage.connect(driver, close_linger_duration_ns="50ms")
    closing = client.async_close()
    closing.cancel()
    assert not closing.is_done
    stage.clock.advance(50 * MS)
    assert closing.poll()


def test_threads_end_with_a_close_that_is_polled(aeron_dir: Path, start_driver: type[FakeDriver]) -> None:
    driver = start_driver(aeron_dir)
    client = Aeron.connect(aeron_dir)
    runners = list(client._runners)
    assert all(runner.is_running for runner in runners)
    closing = client.async_close()
    wait_until(closing.poll, "the threads have not ended")
    assert not any(runner.is_running for runner in runners)
    assert commands_of(driver) == [CommandType.CLIENT_CLOSE]
