"""A thread that the native agents of a node share: they come, take turns, are woken, and go."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.agents.agent_group import AgentGroup
from aerowire.agents.woken_idle import WokenIdleStrategy
from aerowire.base.idle import BackoffIdleStrategy, SleepingMillisIdleStrategy
from aerowire.base.runner import AgentInvoker, NativeAgent
from aerowire.cluster import AeronCluster
from aerowire.driver import Context
from aerowire.nodes import ArchivingMediaDriver, ClusteredMediaDriver
from aerowire.nodes.node_threads import NodeThreads
from aerowire.system.clock import SystemClock
from tests.cluster.module.whole_node import EGRESS, Echo
from tests.support.processes import free_port
from tests.support.waiting import no_longer_than, wait_until

MINUTE_MS = 60_000
SHORT_S = 30.0


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


@pytest.fixture
def threads() -> Iterator[NodeThreads]:
    threads = NodeThreads()
    yield threads
    assert "node" not in names()


def test_agents_share_a_thread_that_ends_with_the_last_of_them(threads: NodeThreads) -> None:
    clock = SystemClock()
    runners = [threads.new_runner([NativeAgent()], clock, BackoffIdleStrategy(), role_name=name) for name in "abc"]
    assert names().count("node") == 0
    for runner in runners:
        runner.start()
        assert runner.is_running
    assert names().count("node") == 1
    for runner in runners:
        assert threads.is_running
        assert runner.stop(SHORT_S)
        assert runner.stop(SHORT_S)
        assert not runner.is_running
    assert not threads.is_running
    assert runners[0].role_name == "a"
    again = threads.new_runner([NativeAgent()], clock, BackoffIdleStrategy())
    again.start()
    assert names().count("node") == 1
    assert again.stop(SHORT_S)


def test_an_agent_that_is_woken_wakes_the_thread(threads: NodeThreads) -> None:
    clock = SystemClock()
    first = threads.new_runner([NativeAgent()], clock, SleepingMillisIdleStrategy(MINUTE_MS))
    first.start()
    idle = WokenIdleStrategy(SleepingMillisIdleStrategy(MINUTE_MS))
    invoker = AgentInvoker([NativeAgent()], clock)
    invoker.start()
    threads.admit(invoker, clock, idle, None)
    for _ in range(3):
        wait_until(lambda: invoker.cycle_count > 0, "no cycle")
        before = invoker.cycle_count
        idle.wake()
        with no_longer_than(SHORT_S, "it sleeps"):
            wait_until(lambda before=before: invoker.cycle_count > before, "no cycle")  # type: ignore[misc]
    with no_longer_than(SHORT_S, "it sleeps"):
        assert threads.dismiss(invoker, SHORT_S)
        assert first.stop(SHORT_S)


def test_agents_come_and_go_while_others_run(threads: NodeThreads) -> None:
    clock = SystemClock()
    steady = threads.new_runner([NativeAgent()], clock, BackoffIdleStrategy())
    steady.start()

    def come_and_go() -> None:
        for _ in range(50):
            runner = threads.new_runner([NativeAgent()], clock, WokenIdleStrategy(BackoffIdleStrategy()))
            runner.start()
            assert runner.stop(SHORT_S)
            done.append(True)

    done: list[bool] = []
    others = [threading.Thread(target=come_and_go) for _ in range(3)]
    for other in others:
        other.start()
    for other in others:
        other.join(SHORT_S)
    assert len(done) == 150
    assert steady.is_running
    assert steady.stop(SHORT_S)


def test_a_group_has_room_for_so_many() -> None:
    group = AgentGroup()
    invokers = [AgentInvoker([NativeAgent()], SystemClock()) for _ in range(17)]
    for invoker in invokers[:16]:
        group.add(invoker)
    with pytest.raises(ValueError, match="at most 16"):
        group.add(invokers[16])
    group.remove(invokers[3])
    group.forget(invokers[3])
    group.add(invokers[16])
    assert not group.is_empty


def test_a_driver_and_its_archive_share_a_thread(tmp_path: Path) -> None:
    before = names()
    channel = "aeron:udp?endpoint=localhost:0"
    with ArchivingMediaDriver.launch_embedded(
        one_thread=True, archive_dir=tmp_path, control_channel=channel, replication_channel=channel
    ) as node:
        assert names().count("node") == before.count("node") + 1
        assert not node.archive.has_ended
    assert names().count("node") == before.count("node")


def test_a_member_of_one_thread_serves_clients(tmp_path: Path) -> None:
    endpoints = ",".join(f"127.0.0.1:{free_port()}" for _ in range(4))
    control = f"127.0.0.1:{free_port()}"
    heard: list[bytes] = []
    with ClusteredMediaDriver.launch(
        Context(aeron_dir=tmp_path / "driver", dir_delete_on_shutdown=True, threading_mode="SHARED"),
        archive={
            "archive_dir": tmp_path / "archive",
            "control_channel": f"aeron:udp?endpoint={control}",
            "replication_channel": "aeron:udp?endpoint=127.0.0.1:0",
            "segment_file_length": 64 * 1024,
            "low_storage_space_threshold": 0,
        },
        cluster={
            "cluster_dir": str(tmp_path / "cluster"),
            "cluster_members": f"0,{endpoints},{control}",
            "ingress_channel": "aeron:udp?term-length=64k",
            "log_channel": "aeron:udp?term-length=64k",
            "replication_channel": "aeron:udp?endpoint=127.0.0.1:0",
        },
        services=[Echo],
        one_thread=True,
    ) as node:
        wait_until(lambda: node.consensus_module.agent.member.is_leading, "no leader")
        listener = lambda _session, _at, buffer, offset, length, _header: heard.append(bytes(buffer[offset : offset + length]))  # noqa: E731
        with AeronCluster.connect(
            aeron_dir=node.aeron_dir,
            ingress_channel="aeron:udp?term-length=64k",
            ingress_endpoints=f"0={endpoints.split(',')[0]}",
            egress_channel=EGRESS,
            egress_listener=listener,
            environ={},
        ) as client:
            for number in range(20):
                message = b"message %d" % number
                wait_until(lambda message=message: client.offer(message) > 0, "no room")  # type: ignore[misc]
                wait_until(lambda: client.poll_egress() or len(heard) > number, "no answer")  # noqa: B023 called at once
            wait_until(lambda: client.poll_egress() or len(heard) == 20, "no answer")
    assert heard == [b"message %d" % number for number in range(20)]
