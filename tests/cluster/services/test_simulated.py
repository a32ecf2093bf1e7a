"""A service container in a simulated world: in one thread with its driver, archive and consensus module, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aerowire.client import Aeron
from aerowire.cluster.services import ClientSession, ClusteredServiceContainer
from aerowire.codecs.flyweights import cluster
from aerowire.codecs.flyweights.cluster.enums import ClusterAction
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest
from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck
from aerowire.codecs.flyweights.cnc import ClusterCounterKeyEncoder, RecoveryStateKeyEncoder, SnapshotRecordingIdEncoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.simulation import MS, SECOND, SimulatedClient, SimulatedHost, SimulatedWorld
from tests.cluster.services.noting_service import NotingService
from tests.cluster.services.scripted_module import CONTROL, LOG, LOG_STREAM_ID, join_log, session_message

DRIVER: dict[str, Any] = {"term_buffer_length": "64k", "ipc_term_buffer_length": "64k"}
ARCHIVE: dict[str, Any] = {"segment_file_length": "64k", "low_storage_space_threshold": 0}


class Totalling(NotingService):
    """Adds up the lengths of messages; its state is an object."""

    total = 0

    def on_session_message(self, session: ClientSession | None, message: bytes, at: int) -> None:
        super().on_session_message(session, message, at)
        self.total += len(message)
        if message == b"wait":
            self.cluster.idle_strategy.idle()

    def snapshot_state(self) -> int:
        return self.total

    def restore_state(self, state: int) -> None:
        self.total = state


class Contained:
    """A container in a process of its own."""

    def __init__(self, host: SimulatedHost, service: object) -> None:
        self.container: ClusteredServiceContainer | None = None
        self.client: SimulatedClient = host.connect(work=self.work, next_deadline_ns=lambda: self.now_ns() + MS)
        self.now_ns: Callable[[], int] = self.client.ports.clock.now_ns
        self.launching = ClusteredServiceContainer.async_launch(
            service,
            aeron_dir=host.driver.aeron_dir,
            cluster_dir="/cluster",
            use_agent_invoker=True,
            environ={},
            ports=self.client.ports,
        )

    def work(self) -> int:
        if self.container is None:
            if not self.launching.poll():
                return 0
            self.container = self.launching.result()
        return 0 if self.container.invoker.is_closed else self.container.invoker.invoke()


class Module:
    """The least that a container needs of a consensus module."""

    def __init__(self, world: SimulatedWorld, host: SimulatedHost) -> None:
        self.world = world
        self.client = host.connect()
        aeron, complete = self.client.aeron, self.client.complete
        self.aeron: Aeron = aeron
        self.control = complete(aeron.async_add_publication(CONTROL, 104))
        self.acks = complete(aeron.async_add_subscription(CONTROL, 105))
        key = ClusterCounterKeyEncoder.encode(cluster_id=0)
        self.commit_position = complete(aeron.async_add_counter(CounterType.CLUSTER_COMMIT_POSITION, key=key))
        self.log = complete(aeron.async_add_exclusive_publication(LOG, LOG_STREAM_ID))

    def recover(self, *recording_ids: int, position: int = 0) -> None:
        key = RecoveryStateKeyEncoder.encode(
            leadership_term_id=0 if recording_ids else -1,
            log_position=position,
            cluster_id=0,
            snapshots=[SnapshotRecordingIdEncoder.encode(recording_id=one) for one in recording_ids],
        )
        self.client.complete(self.aeron.async_add_counter(CounterType.CLUSTER_RECOVERY_STATE, key=key))

    def ack(self) -> ServiceAck:
        found: list[bytes] = []

        def poll() -> bool:
            found.extend(self.acks.poll_many(1))
            return bool(found)

        assert self.world.run(20 * SECOND, until=poll)
        message = cluster.decode(found[0])
        assert isinstance(message, ServiceAck)
        return message

    def join(self) -> None:
        message = join_log(self.log.session_id)
        assert self.world.run(SECOND, until=lambda: self.control.offer(message) > 0)

    def append(self, *messages: bytes) -> int:
        for message in messages:
            assert self.world.run(10 * SECOND, until=lambda: self.log.offer(message) > 0)  # noqa: B023 called at once
            self.commit_position.value = self.log.position
        return self.log.position


def live(seed: int) -> tuple[int, list[tuple[Any, ...]]]:
    """Let a service live, take a snapshot, die and go on from it; return the trace of the world, and the events of both lives."""
    with SimulatedWorld(seed=seed) as world:
        host = world.add_host("10.0.0.1", **DRIVER)
        archive = host.start_archive(**ARCHIVE)
        assert world.run(10 * SECOND, until=lambda: archive.is_serving)
        first = Totalling()
        contained = Contained(host, first)
        module = Module(world, host)
        module.recover()
        assert module.ack().log_position == 0
        module.join()
        module.ack()
        end = module.append(*(session_message(5, bytes(number % 700)) for number in range(300)), session_message(5, b"wait"))
        assert world.run(10 * SECOND, until=lambda: first.cluster.log_position == end)
        assert contained.container is not None
        errors = contained.container.agent.core.counters[CounterType.CLUSTER_CLUSTERED_SERVICE_ERROR_COUNT]
        assert errors.value == 1  # a callback cannot wait in a world of one thread
        request = ClusterActionRequest(leadership_term_id=0, log_position=end + 96, timestamp=9, action=ClusterAction.SNAPSHOT, flags=0)
        module.append(request.encode())
        ack = module.ack()
        assert (ack.log_position, ack.relevant_id >= 0) == (end + 96, True)
        contained.client.kill()
        world.run(15 * SECOND)
        second = Totalling()
        again = Contained(host, second)
        module.recover(ack.relevant_id, position=end + 96)
        assert module.ack().relevant_id >= 0
        assert second.total == first.total
        again.client.kill()
        return world.trace_hash, first.events + second.events


def test_a_container_runs_in_a_simulated_world_and_the_seed_decides_all() -> None:
    first, second = live(3), live(3)
    assert first == second
    assert live(4)[1] == first[1]


def test_an_invoked_container_tells_of_news_and_when_it_is_due_without() -> None:
    with SimulatedWorld(seed=3) as world:
        host = world.add_host("10.0.0.1", **DRIVER)
        service = Totalling()
        contained, module = Contained(host, service), Module(world, host)
        module.recover()
        module.ack()
        module.join()
        module.ack()
        world.run(SECOND)
        assert contained.container is not None
        agent, process = contained.container.agent, host.processes[1]
        assert not agent.has_news()
        assert MS < agent.next_deadline_ns() - host.clock.now_ns() <= 100 * MS
        process.pause()
        end = module.append(session_message(5, b"news"))
        assert agent.has_news()
        process.resume()
        assert world.run(SECOND, until=lambda: service.cluster.log_position == end)
        world.run(100 * MS)
        assert not agent.has_news()
        contained.client.kill()
