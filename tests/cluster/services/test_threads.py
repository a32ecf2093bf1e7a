"""A container with a thread of its own, on a driver and beside a consensus module with theirs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import ClosedError, DriverTimeoutError
from aerowire.client import Aeron
from aerowire.cluster.services import ClusteredServiceContainer
from aerowire.codecs.flyweights.cnc import ClusterCounterKeyEncoder, RecoveryStateKeyEncoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import MediaDriver
from tests.cluster.services.noting_service import NotingService
from tests.cluster.services.scripted_module import CONTROL, LOG, LOG_STREAM_ID, join_log, session_message
from tests.support.waiting import wait_until


class Module:
    """The least that a container needs of a consensus module."""

    def __init__(self, aeron: Aeron) -> None:
        self.control = aeron.add_publication(CONTROL, 104)
        self.acks = aeron.add_subscription(CONTROL, 105)
        self.commit_position = aeron.add_counter(
            CounterType.CLUSTER_COMMIT_POSITION, "commit-pos", key=ClusterCounterKeyEncoder.encode(cluster_id=0)
        )
        key = RecoveryStateKeyEncoder.encode(leadership_term_id=-1, cluster_id=0)
        self.recovery = aeron.add_counter(CounterType.CLUSTER_RECOVERY_STATE, "recovery", key=key)
        self.log = aeron.add_exclusive_publication(LOG, LOG_STREAM_ID)

    def bring_in(self) -> None:
        """Wait for a service that has started, and have it join the log."""
        wait_until(lambda: self.acks.poll_many(1), "no service has started")
        self.control.send(join_log(self.log.session_id))
        wait_until(lambda: self.acks.poll_many(1), "the service has not joined")

    def append(self, *messages: bytes) -> None:
        for message in messages:
            self.log.send(message)
        self.commit_position.value = self.log.position


def test_a_container_sleeps_until_something_is_committed_and_ends_in_time(tmp_path: Path) -> None:
    service = NotingService()
    seen: list[threading.Thread] = []
    options: dict[str, Any] = {"cluster_dir": str(tmp_path), "idle_strategy": "backoff"}
    with MediaDriver.launch_embedded() as driver, Aeron.connect(driver.aeron_dir) as aeron:
        module = Module(aeron)
        container = ClusteredServiceContainer.launch(service, aeron_dir=driver.aeron_dir, **options)
        with pytest.raises(ClosedError, match="no invoker"):
            _ = container.invoker
        module.bring_in()
        for number in range(20):
            module.append(session_message(5, b"%d" % number))
            wait_until(lambda: service.events[-1][0] == "message" and service.events[-1][2] == b"%d" % number, "not delivered")  # noqa: B023
        assert container._host.runner is not None
        cycles = container._host.runner.invoker.cycle_count
        seen.extend(thread for thread in threading.enumerate() if thread.name == "clustered-service-0-0")
        assert len(seen) == 1
        module.append(session_message(5, b"last"))
        wait_until(lambda: service.events[-1][2] == b"last", "not delivered")
        assert container._host.runner.invoker.cycle_count - cycles < 1000  # it does not spin in Python
        container.close()
        assert service.events[-1] == ("terminate",)
    assert not seen[0].is_alive()


def test_a_service_that_is_stuck_is_named_when_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release, entered = threading.Event(), threading.Event()

    class Stuck(NotingService):
        def on_session_message(self, *_: Any) -> None:
            entered.set()
            release.wait(60)

    monkeypatch.setattr("aerowire.cluster.services.container._STOP_TIMEOUT_S", 0.05)
    with MediaDriver.launch_embedded() as driver, Aeron.connect(driver.aeron_dir) as aeron:
        module = Module(aeron)
        container = ClusteredServiceContainer.launch(Stuck(), aeron_dir=driver.aeron_dir, cluster_dir=str(tmp_path))
        module.bring_in()
        module.append(session_message(5, b"x"))
        assert entered.wait(60)
        with pytest.raises(DriverTimeoutError, match=r"did not stop.*clustered-service-0-0 is RUNNING"):
            container.close()
        release.set()
        wait_until(lambda: container.has_ended, "the container lives on")
        container.close()
        assert container._host.runner is not None
        assert not container._host.runner.is_running


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_service_that_exits_ends_its_thread_and_its_container(tmp_path: Path) -> None:
    class Exiting(NotingService):
        def on_session_message(self, *_: Any) -> None:
            raise SystemExit(3)

    service = Exiting()
    with MediaDriver.launch_embedded() as driver, Aeron.connect(driver.aeron_dir) as aeron:
        module = Module(aeron)
        container = ClusteredServiceContainer.launch(service, aeron_dir=driver.aeron_dir, cluster_dir=str(tmp_path))
        module.bring_in()
        module.append(session_message(5, b"x"))
        wait_until(lambda: container.has_ended, "the container lives on")
        assert service.events[-1] == ("terminate",)
        assert "SystemExit in the service" in str(container.termination)
        container.close()
        again = ClusteredServiceContainer.launch(NotingService(), aeron=aeron, cluster_dir=str(tmp_path))
        assert again.aeron is aeron
        again.close()
        assert not aeron.is_closed
