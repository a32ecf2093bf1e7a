"""`aerowire.simulation` as users import it: the names, what an import loads, and strict typing of a file that uses them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import aerowire
from aerowire import simulation
from aerowire.base.errors import ClosedError
from aerowire.simulation import MS, NEVER_NS, SECOND, SimulatedWorld
from aerowire.simulation.events import EVENTS_KEPT
from tests.support.type_check import type_check

USER = """\
from typing import assert_type

import pytest
from aerowire.client import Header, Publication, Subscription
from aerowire.simulation import (
    MS, NEVER_NS, SECOND, Kind, LinkFaults, Medium, Partition, PartitionKind, Process, ProcessState, Scenario, SimulatedClient,
    SimulatedHost, SimulatedWorld,
)


class Echo:
    def __init__(self, requests: Subscription, replies: Publication) -> None:
        self.requests, self.replies = requests, replies

    def work(self) -> int:
        return self.requests.poll(self.on_request)

    def on_request(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        self.replies.offer(buffer, offset, length)


def start(host: SimulatedHost) -> SimulatedClient:
    client = host.connect(client_name="echo")
    requests = assert_type(client.complete(client.aeron.async_add_subscription("aeron:ipc", 1)), Subscription)
    client.start(Echo(requests, client.complete(client.aeron.async_add_publication("aeron:ipc", 2))).work, lambda: NEVER_NS)
    return client


@pytest.mark.simulation_seeds(range(3))
def test_echo(simulated_world: SimulatedWorld, simulation_seed: int) -> None:
    host = simulated_world.add_host("10.0.0.1", term_buffer_length="64k")
    client = start(host)
    simulated_world.network.links.set("10.0.0.1", None, LinkFaults(loss=0.1, latency_ns=5 * MS))
    simulated_world.network.partition(Partition(("10.0.0.1",), ("10.0.0.2",), one_way=True))
    assert_type(simulated_world.network.draw_partition(PartitionKind.HALVES), Partition)
    process: Process = host.driver_process
    assert process.state is ProcessState.RUNNING
    assert_type(simulated_world.run(SECOND, until=lambda: client.has_ended), bool)


ORDERS = Scenario(name="orders", about="two sites", hosts=(2, 2), media=(Medium.UDP,), kinds=(Kind.PAUSE,))
"""
WRONG = """
def wrong(host: SimulatedHost) -> None:
    host.connect(work=5)
    LinkFaults(loss="10 %")
    Scenario(name="x", about="y", hosts=2)
"""


def in_a_new_process(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()


def test_every_name_is_there_and_has_a_description() -> None:
    assert simulation.__all__ == sorted(simulation.__all__, key=lambda name: (not name.isupper(), name))
    for name in simulation.__all__:
        assert getattr(simulation, name) is not None
        assert name in dir(simulation)
        found = getattr(simulation, name)
        # Enumerations whose members stand in a .pxd have no place for one.
        assert not isinstance(found, type) or found.__doc__ or name in ("LossCause", "PacketFate")
    with pytest.raises(AttributeError, match="no attribute 'SimulatedWorlds'"):
        _ = simulation.SimulatedWorlds


def test_a_name_loads_what_it_needs_and_the_package_alone_nothing() -> None:
    told = "print(*sorted(name for name in sys.modules if name.startswith('aerowire.')))"
    alone = in_a_new_process(f"import sys, aerowire.simulation; {told}")
    assert alone == ["aerowire.base", "aerowire.base.lazy_names", "aerowire.simulation"]
    loaded = in_a_new_process(f"import sys; from aerowire.simulation import LinkFaults; {told}")
    assert "aerowire.simulation.link_faults" in loaded
    assert not [name for name in loaded if name.startswith(("aerowire.driver", "aerowire.client", "aerowire.simulation.world"))]


def test_a_users_file_passes_strict_typing_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER + WRONG)
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(str(Path(root).parent) for root in aerowire.__path__)}
    options = ["--namespace-packages", "--explicit-package-bases", "--no-error-summary"]
    done = type_check(tmp_path, *options, "user.py", written=["user"], environment=environment)
    lines = [line for line in done.stdout.splitlines() if "error:" in line]
    first = USER.count("\n") + 3
    assert [line.split(":")[1] for line in lines] == [str(first + number) for number in range(3)], done.stdout + done.stderr


# -- What is there for users alone ---------------------------------------------------------------------------------------


def test_an_application_starts_when_its_streams_are_there() -> None:
    with SimulatedWorld(seed=1) as world:
        client = world.add_host("10.0.0.1").connect()
        publication = client.complete(client.aeron.async_add_publication("aeron:ipc", 1))
        subscription = client.complete(client.aeron.async_add_subscription("aeron:ipc", 1))
        received: list[bytes] = []
        due_ns = world.clock.now_ns() + 5 * MS

        def work() -> int:
            received.extend(subscription.messages(timeout_ns=0))
            return len(received)

        client.start(lambda: 0 if received or publication.offer(b"hello") < 0 else work(), lambda: NEVER_NS if received else due_ns)
        assert world.run(SECOND, until=lambda: received == [b"hello"])
        client.kill()
        with pytest.raises(ClosedError, match="the process is in the wrong state"):
            client.start(work)


def test_a_world_is_closed_by_with() -> None:
    with SimulatedWorld(seed=1) as world:
        host = world.add_host("10.0.0.1")
    assert host.driver.is_closed
    assert host.processes == ()


def test_a_driver_takes_no_options_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AERON_TERM_BUFFER_LENGTH", "128k")
    with SimulatedWorld(seed=1) as world:
        assert world.add_host("10.0.0.1").driver.context.term_buffer_length == 16 << 20
        assert world.add_host("10.0.0.2", environ={"AERON_TERM_BUFFER_LENGTH": "128k"}).driver.context.term_buffer_length == 128 << 10


def test_a_world_keeps_the_last_events_of_each_host() -> None:
    lines: list[str] = []
    with SimulatedWorld(seed=1) as world:
        world.events.on_event = lines.append
        host = world.add_host("10.0.0.1")
        host.driver_process.pause()
        world.run(SECOND)
        host.driver_process.resume()
        host.lose_power()
        world.events.note("10.0.0.2", "something of my own")
        kept = world.events.by_host
    assert [line.partition(": ")[2] for line in kept["10.0.0.1"]] == [
        "a driver starts",
        "driver at 10.0.0.1 is paused",
        "driver at 10.0.0.1 is resumed",
        "driver at 10.0.0.1 is killed",
        "the power fails",
    ]
    assert kept["10.0.0.1"][0].startswith("0.000000 s, step 0: ")
    assert kept["10.0.0.1"][-1].startswith("1.000000 s, step ")
    assert kept["10.0.0.2"][0].endswith(": something of my own")
    assert lines[0] == "10.0.0.1: 0.000000 s, step 0: a driver starts"
    with SimulatedWorld(seed=1) as world:
        for number in range(100):
            world.events.note("10.0.0.1", str(number))
        assert [line.partition(": ")[2] for line in world.events.by_host["10.0.0.1"]] == [
            str(number) for number in range(100 - EVENTS_KEPT, 100)
        ]
