"""Drivers on hosts that fail: killed, without power, back again at another address, paused, slow, with clocks that are wrong."""

from __future__ import annotations

import errno
import gc
from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from aerowire.archive.client.steps import Steps
from aerowire.base.directory import LOCK_FILE_NAME
from aerowire.base.errors import ClosedError, ConfigurationError, StorageSpaceError
from aerowire.base.runner import AgentInvoker, NativeAgent
from aerowire.codecs.flyweights.cnc import CONSUMER_HEARTBEAT_CLOSED
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.simulation.links import LossCause
from aerowire.simulation.partitions import Partition
from aerowire.simulation.process import NEVER_NS, ProcessState
from aerowire.simulation.world import SimulatedWorld
from tests.support.stream_client import StreamClient

MS, SECOND = 1_000_000, 1_000_000_000
HERE, THERE = "10.0.0.1", "10.0.0.2"
CHANNEL = f"aeron:udp?endpoint={THERE}:40456"
QUICK: dict[str, Any] = {
    "environ": {},
    "term_buffer_length": "64k",
    "image_liveness_timeout_ns": "2s",
    "publication_linger_timeout_ns": "1s",
    "timer_interval_ns": "100ms",
}
MESSAGES = [b"message %d" % number for number in range(200)]


class Stream:
    """A publisher at one host and a subscriber at another, connected."""

    def __init__(self, world: SimulatedWorld, channel: str = CHANNEL) -> None:
        self.world = world
        self.channel = channel
        self.publisher, self.subscriber = (StreamClient.launch(world, address, **QUICK) for address in (HERE, THERE))
        self.subscriber.subscribe(channel)
        self.publisher.publish(channel)
        assert world.run(2 * SECOND, until=lambda: self.subscriber.image is not None)

    def passes(self, messages: list[bytes] = MESSAGES, *, within_ns: int = 30 * SECOND) -> bool:
        """Send messages; return whether all of them arrive, after those before."""
        expected = [*self.subscriber.received, *messages]
        self.publisher.send(messages)
        self.world.run(within_ns, until=lambda: len(self.subscriber.received) == len(expected))
        return self.subscriber.received == expected


@pytest.fixture
def stream(world: SimulatedWorld) -> Stream:
    return Stream(world)


# -- Cycles of a driver ------------------------------------------------------------------------------------------------


def test_a_conductor_runs_when_it_is_woken_and_when_it_is_due(stream: Stream) -> None:
    conductor = stream.publisher.host.driver.conductor
    conductor.do_work = Mock(wraps=conductor.do_work)  # type: ignore[method-assign]
    assert stream.passes()
    assert conductor.do_work.call_count < 10
    turns = stream.publisher.host.driver_process.turns
    stream.world.run(10 * SECOND)
    # Once a second, as its thread would, and for the signs of life of its client.
    assert 10 <= conductor.do_work.call_count < 100
    assert stream.publisher.host.driver_process.turns - turns > 5 * conductor.do_work.call_count
    commands = conductor.do_work.call_count
    stream.publisher.publish("aeron:ipc")
    stream.world.settle()
    assert conductor.do_work.call_count > commands


def test_a_driver_that_was_closed_has_cycles_without_work(stream: Stream) -> None:
    host = stream.subscriber.host
    host.processes[1].kill()  # the client
    host.driver.close()
    stream.world.run(SECOND)
    assert host.processes == (host.driver_process,)


def test_native_deadlines_are_those_of_native_agents(stream: Stream) -> None:
    invoker = stream.publisher.host.driver.invoker
    native = [agent for agent in invoker.agents if isinstance(agent, NativeAgent)]
    assert len(native) == 3
    assert invoker.next_native_deadline_ns() == AgentInvoker(native, stream.publisher.host.clock).next_deadline_ns()
    assert invoker.next_native_deadline_ns() > stream.publisher.host.clock.now_ns()


# -- Killed, without power, back again ---------------------------------------------------------------------------------


def test_nothing_of_the_orderly_end_of_a_killed_driver_runs(stream: Stream) -> None:
    host = stream.subscriber.host
    cnc, files = host.cnc, host.disk.paths()
    lock = Path(host.driver.aeron_dir) / LOCK_FILE_NAME
    assert host.regions.is_locked(lock) is True
    heartbeat_ms = cnc.heartbeat_ms
    host.driver_process.kill()
    stream.world.run(5 * SECOND)
    assert cnc.heartbeat_ms == heartbeat_ms != CONSUMER_HEARTBEAT_CLOSED
    assert host.disk.paths() == files
    assert host.regions.is_locked(lock) is False
    with pytest.raises(ClosedError, match="the host has no driver"):
        _ = host.driver
    assert [process.name for process in host.processes] == [f"client at {THERE}"]


def test_a_publisher_notices_a_subscriber_without_power(stream: Stream) -> None:
    assert stream.passes()
    stream.subscriber.host.lose_power()
    lost = stream.world.network.counts.lost[LossCause.CUT]
    stream.publisher.send(MESSAGES)
    stream.world.run(10 * SECOND)
    assert stream.world.network.counts.lost[LossCause.CUT] > lost
    assert not stream.subscriber.host.has_power
    assert stream.subscriber.host.processes == ()
    assert stream.publisher.host.driver_process.state is ProcessState.RUNNING


def test_a_host_without_power_runs_nothing(stream: Stream) -> None:
    host = stream.subscriber.host
    host.lose_power()
    with pytest.raises(ClosedError, match="the host has no power"):
        host.start_driver(**QUICK)
    with pytest.raises(ClosedError, match="the host has no power"):
        host.add_process(lambda: 0)
    host.restart()
    with pytest.raises(ClosedError, match="the host has power"):
        host.restart()


def test_a_host_comes_back_with_a_blank_disk_and_its_stream_goes_on(stream: Stream) -> None:
    assert stream.passes()
    host = stream.subscriber.host
    wall_clock = host.clock.now_epoch_ns()
    host.lose_power()
    stream.world.run(3 * SECOND)
    host.restart(blank_disk=True)
    # What a machine's monotonic clock shows, it shows since its start.
    assert host.clock.now_ns() == 0
    assert host.clock.now_epoch_ns() == wall_clock + 3 * SECOND
    host.start_driver(**QUICK)
    stream.subscriber = StreamClient(host)
    stream.subscriber.subscribe(CHANNEL)
    assert stream.world.run(20 * SECOND, until=lambda: stream.subscriber.image is not None)
    assert stream.passes()


def test_a_disk_is_given_back_as_it_was(world: SimulatedWorld) -> None:
    host = world.add_empty_host(HERE)
    with host.files.open("/journal", writable=True, create=True) as journal:
        journal.write_all(0, b"entry")
        journal.sync()
    host.files.sync_directory("/")
    host.regions.create("/dev/shm/mapped", 4096)
    host.lose_power()
    host.restart()
    assert host.disk.paths() == {"/journal"}
    with host.files.open("/journal") as journal:
        assert journal.read(0, 100) == b"entry"
    assert host.files.names("/dev/shm") == []
    host.lose_power()
    host.restart(blank_disk=True)
    assert host.disk.paths() == frozenset()


def test_a_host_that_returns_at_another_address_is_found_by_its_name(world: SimulatedWorld) -> None:
    world.names["there"] = THERE
    stream = Stream(world, "aeron:udp?endpoint=there:40456")
    assert stream.passes()
    host = stream.subscriber.host
    host.lose_power()
    host.move_to("10.0.0.9")
    world.names["there"] = host.address
    host.restart()
    host.start_driver(**QUICK)
    stream.subscriber = StreamClient(host)
    stream.subscriber.subscribe(stream.channel)
    assert world.run(20 * SECOND, until=lambda: stream.subscriber.image is not None)
    assert stream.publisher.system(SystemCounter.RESOLUTION_CHANGES) == 1
    assert stream.passes()


def test_a_host_has_one_driver_at_a_time(stream: Stream) -> None:
    with pytest.raises(ClosedError, match="the host has a driver"):
        stream.subscriber.host.start_driver(**QUICK)


def test_a_driver_that_does_not_start_leaves_no_process_and_no_socket(world: SimulatedWorld) -> None:
    host = world.add_empty_host(HERE, capacity=1 << 20)
    with pytest.raises(ConfigurationError):
        host.start_driver(environ={}, term_buffer_length="65k")
    with pytest.raises(StorageSpaceError):
        host.start_driver(**QUICK)
    assert host.processes == ()
    assert host.disk.paths() == frozenset()
    world.add_host(THERE, **QUICK)


def test_a_driver_of_a_world_writes_no_file_of_this_machine(world: SimulatedWorld, tmp_path: Path) -> None:
    host = world.add_empty_host(HERE)
    with pytest.raises(ConfigurationError, match=r"a simulated driver writes no capture; at capture; got .*add_trace\(PacketCapture"):
        host.start_driver(**QUICK, capture=tmp_path / "driver.pcapng")
    assert list(tmp_path.iterdir()) == []
    assert host.processes == ()


def test_a_host_that_is_removed_is_gone_and_stays_in_the_digest(stream: Stream) -> None:
    world, before = stream.world, stream.world.trace_hash
    world.remove_host(stream.subscriber.host)
    assert [host.address for host in world.hosts] == [HERE]
    assert world.trace_hash != before
    world.run(SECOND)


def test_the_end_of_a_world_ends_its_drivers_in_good_order() -> None:
    world = SimulatedWorld(seed=1)
    host = world.add_host(HERE, **QUICK)
    to_driver = host.cnc.to_driver
    world.close()
    assert host.driver.is_closed
    assert to_driver.consumer_heartbeat_ms == CONSUMER_HEARTBEAT_CLOSED
    assert host.processes == ()


# -- Paused and slow ---------------------------------------------------------------------------------------------------


def test_a_driver_that_is_paused_for_a_moment_loses_nothing(stream: Stream) -> None:
    stream.publisher.send(MESSAGES)
    stream.subscriber.host.driver_process.pause()
    stream.world.run(SECOND)
    assert len(stream.subscriber.received) == 0
    stream.subscriber.host.driver_process.resume()
    assert stream.world.run(5 * SECOND, until=lambda: stream.subscriber.received == MESSAGES)


def test_a_stream_ends_at_a_driver_that_is_paused_for_long(stream: Stream) -> None:
    assert stream.passes()
    image = stream.subscriber.image
    stream.publisher.host.driver_process.pause()
    stream.world.run(5 * SECOND)
    assert stream.subscriber.image is None
    stream.publisher.host.driver_process.resume()
    assert stream.world.run(5 * SECOND, until=lambda: stream.subscriber.image is not None)
    assert stream.subscriber.image != image


def test_a_slow_driver_is_slow_and_loses_nothing(stream: Stream) -> None:
    start = stream.world.clock.now_ns()
    assert stream.passes()
    quick_ns = stream.world.clock.now_ns() - start
    stream.subscriber.host.driver_process.slow(20 * MS)
    start = stream.world.clock.now_ns()
    assert stream.passes()
    assert stream.world.clock.now_ns() - start > max(20 * MS, 10 * quick_ns)


# -- Clocks that are wrong ---------------------------------------------------------------------------------------------


def test_a_stream_outlives_clocks_that_drift_apart(stream: Stream) -> None:
    stream.publisher.host.clock.set_drift(5_000)
    stream.subscriber.host.clock.set_drift(-5_000)
    image = stream.subscriber.image
    stream.world.run(300 * SECOND)
    assert stream.publisher.host.clock.now_ns() - stream.subscriber.host.clock.now_ns() > 2 * SECOND
    assert stream.subscriber.image == image
    assert stream.passes()
    assert stream.publisher.errors == stream.subscriber.errors == []


@pytest.mark.parametrize("by_ns", [3_600 * SECOND, -3_600 * SECOND, 30 * 365 * 86_400 * SECOND])
def test_a_stream_outlives_wall_clocks_that_are_set(stream: Stream, by_ns: int) -> None:
    image = stream.subscriber.image
    for client in (stream.publisher, stream.subscriber):
        client.host.clock.jump(by_ns)
        stream.world.run(30 * SECOND)
        assert stream.passes()
    assert stream.subscriber.image == image
    assert stream.publisher.errors == stream.subscriber.errors == []


# -- Bad networks ------------------------------------------------------------------------------------------------------


def test_a_stream_goes_on_when_a_partition_has_healed(stream: Stream) -> None:
    stream.world.network.partition(Partition((HERE,), (THERE,)))
    stream.publisher.send(MESSAGES)
    stream.world.run(SECOND)
    assert stream.subscriber.received == []
    stream.world.network.heal()
    assert stream.world.run(5 * SECOND, until=lambda: stream.subscriber.received == MESSAGES)


@pytest.mark.parametrize(
    "faults",
    [
        {"loss": 0.3, "replay": 0.5, "latency_ns": 10 * MS, "jitter_ns": 40 * MS},
        {"queue_length": 2, "jitter_ns": MS},
        {"queue_length": 20, "drops_oldest": True, "bytes_per_second": 50_000},
        {"clog_interval_ns": SECOND, "clog_mean_ns": SECOND, "clog_max_ns": 5 * SECOND},
        {"reorder": 0.5, "reorder_ns": 5 * MS, "duplicate": 0.5},
        {"send_error": 0.3},
        {"send_error": 0.5, "send_errors": (errno.EAGAIN,)},
    ],
)
def test_messages_arrive_in_order_over_any_network_that_lets_some_pass(world: SimulatedWorld, faults: dict[str, Any]) -> None:
    stream = Stream(world)
    world.network.set_faults(**faults)
    assert stream.passes(within_ns=120 * SECOND)
    counts = world.network.counts
    assert counts.sent + counts.duplicated + counts.replayed == counts.delivered + counts.in_flight + sum(counts.lost.values())


def test_what_a_killed_process_was_about_is_kept_until_the_world_ends(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1")
    ended: list[str] = []

    def steps() -> Generator[None, None, None]:
        try:
            yield
        finally:
            ended.append("launch")

    launching: Steps[None] = Steps("launch", steps())
    launching.poll()
    process = host.new_process("member")
    process.on_kill(lambda left=launching: host.keep_until_the_end(left, None))  # type: ignore[misc]
    process.start(lambda: 0, lambda: NEVER_NS)
    del launching
    process.kill()
    del process
    gc.collect()
    assert ended == []
    host.lose_power()
    host.discard_left()
    assert ended == ["launch"]
