"""The real client in the world: it connects, lives, is closed and killed there, and asks the operating system for nothing."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.base.errors import (
    BlockingCallError,
    ClosedError,
    DriverDirectoryMissingError,
    DriverShutdownError,
    DriverTimeoutError,
    RegistrationError,
    StorageError,
)
from aerowire.base.units import INT64_MAX
from aerowire.client import Aeron, ConnectState, Counter, Pending, is_driver_active
from aerowire.client.conductor.conductor import ClientConductor
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.simulation.clients import RETRY_NS, SimulatedClient
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.processes import FIRST_ID
from aerowire.simulation.world import SimulatedWorld
from tests.support.stream_client import STREAM, StreamClient

MS = 1_000_000
SECOND = 1_000_000_000
CHANNEL = "aeron:udp?endpoint=10.0.0.2:40456"
IPC = "aeron:ipc"
QUICK: dict[str, Any] = {"environ": {}, "term_buffer_length": "64k", "ipc_term_buffer_length": "64k"}


def host_of(world: SimulatedWorld, number: int = 1, **options: Any) -> SimulatedHost:
    return world.add_host(f"10.0.0.{number}", **QUICK, **options)


class Cycles:
    """An application that counts how often it is called."""

    count = 0

    def __call__(self) -> int:
        self.count += 1
        return 0


def labels(host: SimulatedHost, kind: CounterType) -> list[str]:
    return [info.label for info in host.cnc.counters_reader().for_each() if info.type_id == kind]


# ---- how it lives


def test_an_invoked_conductor_has_cycles_when_the_driver_has_said_something_and_ten_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    cycles = 0
    original = ClientConductor.do_work

    def do_work(self: ClientConductor, now_ns: int, epoch_ms: int, /) -> int:
        nonlocal cycles
        cycles += 1
        return original(self, now_ns, epoch_ms)

    monkeypatch.setattr(ClientConductor, "do_work", do_work)
    with SimulatedWorld(seed=1) as world:
        aeron = host_of(world).connect().aeron
        world.run(SECOND)
        aeron.invoke()
        cycles = 0
        for _ in range(10):
            aeron.invoke()
        assert cycles == 0
        world.clock.advance(100 * MS)
        for _ in range(10):
            aeron.invoke()
        assert cycles == 1
        pending = aeron.async_add_subscription(IPC, 1)
        assert world.run(50 * MS, until=lambda: cycles > 1)
        assert pending.poll()


def test_a_client_is_connected_at_once_where_its_driver_is_there(world: SimulatedWorld) -> None:
    client = host_of(world).connect()
    assert client.connecting.state == ConnectState.CONNECTED
    assert not client.aeron.is_closed


def test_a_client_stays_alive_without_anything_being_done(world: SimulatedWorld) -> None:
    host = host_of(world)
    client = host.connect()
    counter = client.complete(client.aeron.async_add_counter(1000, "mine"))
    world.run(60 * SECOND)
    counter.value = 5
    assert (client.errors, counter.value, counter.is_closed) == ([], 5, False)
    (heartbeat,) = labels(host, CounterType.CLIENT_HEARTBEAT)
    assert f"pid={client.process_id}" in heartbeat


def test_processes_of_a_host_have_ids_of_their_own(world: SimulatedWorld) -> None:
    host = host_of(world)
    clients = [host.connect() for _ in range(3)]
    assert host.cnc.pid == FIRST_ID
    assert [client.process_id for client in clients] == [FIRST_ID + 1, FIRST_ID + 2, FIRST_ID + 3]
    clients[1].kill()
    assert not host.process_table.is_running(clients[1].process_id)
    assert host.connect().process_id == FIRST_ID + 4


def test_a_client_that_is_closed_is_gone_with_the_driver_s_next_timer(world: SimulatedWorld) -> None:
    host = host_of(world)
    client = host.connect()
    client.complete(client.aeron.async_add_counter(1000, "mine"))
    client.close()
    client.close()
    assert client.aeron.is_closed
    assert client.has_ended
    assert client.next_deadline_ns() == INT64_MAX
    assert world.run(2 * SECOND, until=lambda: labels(host, CounterType.CLIENT_HEARTBEAT) == [])


def test_a_client_that_lingers_ends_when_it_has_lingered(world: SimulatedWorld) -> None:
    host = host_of(world)
    cycles = Cycles()
    client = host.connect(work=cycles, close_linger_duration_ns="1s")
    client.complete(client.aeron.async_add_counter(1000, "mine"))
    client.close()
    before = cycles.count
    assert client.next_deadline_ns() == world.clock.now_ns() + SECOND
    assert not world.run(SECOND - MS, until=lambda: client.has_ended)
    assert labels(host, CounterType.CLIENT_HEARTBEAT)
    assert world.run(2 * MS, until=lambda: client.has_ended)
    assert world.run(2 * SECOND, until=lambda: labels(host, CounterType.CLIENT_HEARTBEAT) == [])
    assert cycles.count == before


def test_a_client_that_is_killed_is_missed_when_its_heartbeat_is_too_old(world: SimulatedWorld) -> None:
    host = host_of(world, client_liveness_timeout_ns="3s")
    client = StreamClient(host)
    client.publish(IPC)
    world.run(SECOND)
    assert labels(host, CounterType.CLIENT_HEARTBEAT)
    client.client.kill()
    assert not world.run(2 * SECOND, until=lambda: labels(host, CounterType.CLIENT_HEARTBEAT) == [])
    assert world.run(3 * SECOND, until=lambda: labels(host, CounterType.CLIENT_HEARTBEAT) == [])
    assert host.cnc.counters_reader().value(SystemCounter.CLIENT_TIMEOUTS) == 1


@pytest.mark.parametrize("keeps_claim", [True, False])
def test_what_a_killed_client_has_claimed_is_left_to_its_driver(world: SimulatedWorld, *, keeps_claim: bool) -> None:
    host = host_of(world, client_liveness_timeout_ns="2s", publication_unblock_timeout_ns="3s")
    client = StreamClient(host)
    client.publish(IPC)
    reader = StreamClient(host)
    reader.subscribe(IPC)
    world.run(SECOND)
    publication = client.client.complete(client.aeron.async_add_publication(IPC, STREAM))
    claim = publication.try_claim(100)
    assert claim
    client.client.kill()
    if keeps_claim:
        with pytest.raises(ClosedError):
            claim.commit()
    else:
        del claim, client, publication
        gc.collect()
    unblocked = SystemCounter.UNBLOCKED_PUBLICATIONS
    assert not world.run(2 * SECOND, until=lambda: host.cnc.counters_reader().value(unblocked) > 0)
    assert world.run(3 * SECOND, until=lambda: host.cnc.counters_reader().value(unblocked) > 0)


def test_a_killed_client_is_of_no_use(world: SimulatedWorld) -> None:
    host = host_of(world)
    client = StreamClient(host)
    client.publish(IPC)
    publication = client.client.complete(client.aeron.async_add_exclusive_publication(IPC, STREAM))
    counter = client.client.complete(client.aeron.async_add_counter(1_500, "its own"))
    counter.value = 7
    client.client.kill()
    assert client.aeron.is_closed
    assert publication.is_closed
    with pytest.raises(ClosedError):
        counter.value = 8
    client.aeron.close()
    assert {info.value for info in host.cnc.counters_reader().for_each() if info.label == "its own"} == {7}


def test_a_client_notices_that_its_driver_has_ended_and_goes_on_as_a_process(world: SimulatedWorld) -> None:
    host = host_of(world)
    cycles = Cycles()
    client = host.connect(work=cycles, driver_timeout_ns="2s")
    host.driver.close()
    assert world.run(3 * SECOND, until=lambda: client.aeron.is_closed)
    assert [type(error) for error in client.errors] == [DriverShutdownError]
    before = cycles.count
    world.settle()
    assert cycles.count > before


def test_a_client_notices_that_its_driver_stands_still(world: SimulatedWorld) -> None:
    host = host_of(world)
    client = host.connect(driver_timeout_ns="2s")
    host.driver_process.pause()
    start_ns = world.clock.now_ns()
    assert world.run(5 * SECOND, until=lambda: client.aeron.is_closed)
    assert [type(error) for error in client.errors] == [DriverTimeoutError]
    assert 2 * SECOND <= world.clock.now_ns() - start_ns <= 3 * SECOND
    host.driver_process.resume()


# ---- connecting to a driver that is not there


def lonely(host: SimulatedHost, **options: Any) -> SimulatedClient:
    """Start a client of a driver that nobody has started."""
    return host.connect(aeron_dir="/nowhere", **options)


def test_a_client_looks_for_its_driver_until_its_timeout(world: SimulatedWorld) -> None:
    client = lonely(host_of(world), driver_timeout_ns="1s")
    assert client.next_deadline_ns() == world.clock.now_ns() + RETRY_NS
    with pytest.raises(RuntimeError, match="no answer yet"):
        _ = client.aeron
    assert not world.run(SECOND - MS, until=lambda: client.connecting.is_done)
    assert world.run(2 * MS, until=lambda: client.connecting.is_done)
    assert [type(error) for error in client.errors] == [DriverDirectoryMissingError]
    with pytest.raises(DriverDirectoryMissingError):
        _ = client.aeron
    assert client.next_deadline_ns() == INT64_MAX


def test_a_client_meets_a_driver_that_comes_later(world: SimulatedWorld) -> None:
    host = host_of(world)
    client = lonely(host)
    world.run(SECOND)
    memory = host.regions.map(Path(host.driver.aeron_dir) / CNC_FILE_NAME)
    host.files.make_directory("/nowhere")
    memoryview(host.regions.create(Path("/nowhere") / CNC_FILE_NAME, len(memory), sparse=True))[:] = memoryview(memory)
    assert world.run(2 * RETRY_NS, until=lambda: client.connecting.is_fulfilled)


def test_a_client_that_ends_while_it_looks_for_its_driver_is_gone(world: SimulatedWorld) -> None:
    client = lonely(host_of(world))
    client.close()
    assert client.has_ended
    assert client.connecting.is_done


def test_whether_a_driver_lives_is_told_without_waiting(world: SimulatedWorld) -> None:
    host = host_of(world)
    directory = host.driver.aeron_dir
    ports = host.ports_for(host.new_process("observer"))
    assert is_driver_active(directory, watches=False, ports=ports)
    with pytest.raises(BlockingCallError, match="watches=False"):
        is_driver_active(directory, ports=ports)
    host.driver_process.pause()
    world.run(11 * SECOND)
    assert not is_driver_active(directory, watches=False, ports=ports)
    host.driver_process.resume()


# ---- what it does


def test_a_refused_command_is_told_to_its_caller(world: SimulatedWorld) -> None:
    client = host_of(world).connect()
    with pytest.raises(RegistrationError):
        client.complete(client.aeron.async_add_publication("aeron:udp?endpoint=nowhere:40456", STREAM))


def test_a_command_without_an_answer_is_given_up(world: SimulatedWorld) -> None:
    host = host_of(world)
    client = host.connect()
    host.driver_process.pause()
    pending = client.aeron.async_add_counter(1000, "mine")
    with pytest.raises(DriverTimeoutError, match="no answer to: add counter 'mine'"):
        client.complete(pending, SECOND)
    assert pending.is_done
    host.driver_process.resume()


def test_an_application_may_connect_a_client_of_its_own(world: SimulatedWorld) -> None:
    host = host_of(world)
    process = host.connect()
    pending = Aeron.async_connect(host.driver.aeron_dir, ports=process.ports, use_conductor_agent_invoker=True, environ={})
    assert pending.poll()
    other = pending.result()
    counter = other.async_add_counter(1000, "other")
    assert world.run(SECOND, until=lambda: other.invoke() >= 0 and counter.is_done)
    assert len({f"pid={process.process_id}" in label for label in labels(host, CounterType.CLIENT_HEARTBEAT)}) == 1
    process.close()
    assert other.is_closed  # with its process


def test_an_application_does_not_let_the_world_run(world: SimulatedWorld) -> None:
    pending: list[Pending[Counter]] = []
    client = host_of(world).connect(work=lambda: int(client.complete(pending[0]).value) if pending else 0)
    pending.append(client.aeron.async_add_counter(1000, "mine"))
    with pytest.raises(BlockingCallError, match=r"SimulatedClient\.complete waits.*poll\(\) of the command"):
        world.run(SECOND)
    pending.clear()
    world.run(SECOND)


def test_messages_of_all_lengths_pass(world: SimulatedWorld) -> None:
    sender, receiver = (host_of(world, number).connect() for number in (1, 2))
    subscription = receiver.complete(receiver.aeron.async_add_subscription(CHANNEL, STREAM))
    publication = sender.complete(sender.aeron.async_add_exclusive_publication(CHANNEL, STREAM))
    assert world.run(SECOND, until=lambda: publication.is_connected and subscription.is_connected)
    messages = [bytes([length % 251]) * length for length in (0, 1, 1375, 1376, 1377, 4000, publication.max_message_length)]
    received: list[bytes] = []
    for message in messages:
        assert world.run(SECOND, until=lambda message=message: publication.offer(message) > 0)  # type: ignore[misc]
        while world.run(SECOND, until=lambda: not subscription.has_no_images) and len(received) <= messages.index(message):
            received += subscription.messages(timeout_ns=0)
            world.run(MS)
    assert received == messages


def test_an_application_is_due_at_its_own_deadline(world: SimulatedWorld) -> None:
    due_ns = world.clock.now_ns() + 123 * MS
    times: list[int] = []

    def work() -> int:
        if world.clock.now_ns() < due_ns or times:
            return 0
        times.append(world.clock.now_ns())
        return 1

    host_of(world).connect(work=work, next_deadline_ns=lambda: INT64_MAX if times else due_ns)
    world.run(SECOND)
    assert times == [due_ns]


def test_two_clients_of_a_host_close_files_of_their_own(world: SimulatedWorld) -> None:
    host = host_of(world)
    one, other = (StreamClient(host) for _ in range(2))
    one.publish(IPC)
    other.subscribe(IPC)
    one.send([b"first"])
    assert world.run(SECOND, until=lambda: other.received == [b"first"])
    third = host.connect()
    third.close()
    one.send([b"second"])
    assert world.run(SECOND, until=lambda: other.received == [b"first", b"second"])
    assert one.errors == other.errors == []


def test_there_are_no_files_to_hand_out(world: SimulatedWorld) -> None:
    client = StreamClient(host_of(world))
    client.subscribe(IPC)
    client.publish(IPC)
    assert world.run(SECOND, until=lambda: client.has_image)
    assert client.image is not None
    with pytest.raises(StorageError, match="poll_block or block_poll"):
        _ = client.image.file


def test_the_same_seed_is_the_same_world_with_clients_and_all() -> None:
    assert traced() == traced()


def traced() -> tuple[int, int, int, list[str]]:
    """Send messages over a network with faults; return what the world was like."""
    world = SimulatedWorld(seed=5)
    sender, receiver = (StreamClient(host_of(world, number)) for number in (1, 2))
    receiver.subscribe(CHANNEL)
    sender.publish(CHANNEL)
    world.network.set_faults(loss=0.1, duplicate=0.05, jitter_ns=200_000)
    sender.send(b"%d" % number for number in range(500))
    assert world.run(30 * SECOND, until=lambda: len(receiver.received) == 500)
    told = [info.label for host in (sender.host, receiver.host) for info in host.cnc.counters_reader().for_each()]
    world.close()
    return world.network.trace_hash, world.clock.now_ns(), world.steps, told


# ---- and nothing else


def refuse(name: str, real: Any) -> Callable[..., Any]:
    own = threading.get_ident()

    def call(*arguments: object, **options: object) -> Any:
        if threading.get_ident() != own:
            return real(*arguments, **options)  # a thread that another test has left
        raise AssertionError(f"{name} was called in a simulated world")

    return call


FORBIDDEN: list[tuple[Any, str]] = [
    *(
        (os, name)
        for name in ("open", "stat", "lstat", "fstat", "unlink", "mkdir", "listdir", "kill", "getpid", "urandom", "eventfd", "pipe")
    ),
    *((time, name) for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep")),
    (threading.Thread, "start"),
    (socket, "socket"),
    (socket, "getaddrinfo"),
]


def test_a_client_asks_the_operating_system_for_nothing(world: SimulatedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = [host_of(world, number) for number in (1, 2)]
    received: list[bytes] = []
    with monkeypatch.context() as patch:
        for owner, name in FORBIDDEN:
            patch.setattr(owner, name, refuse(name, getattr(owner, name, None)), raising=False)
        sender, receiver = (StreamClient(host, pre_touch_mapped_memory=True) for host in hosts)
        receiver.subscribe(CHANNEL)
        sender.publish(CHANNEL)
        sender.send([b"one", b"two"])
        world.run(5 * SECOND)
        counter = sender.client.complete(sender.aeron.async_add_counter(1000, "mine"))
        counter.close()
        missing = lonely(hosts[0], driver_timeout_ns="100ms")
        world.run(SECOND)
        received += receiver.received
        failures = [type(error) for error in missing.errors]
        assert receiver.subscription is not None
        receiver.subscription.close()
        receiver.client.close()
        sender.client.kill()
        world.run(12 * SECOND)
    assert received == [b"one", b"two"]
    assert failures == [DriverDirectoryMissingError]
    assert sender.errors == receiver.errors == []
