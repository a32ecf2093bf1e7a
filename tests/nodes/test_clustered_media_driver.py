"""A driver, an archive, a consensus module and its services as one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.directory import random_aeron_dir
from aerowire.base.errors import ClosedError, ConfigurationError
from aerowire.client import Aeron
from aerowire.cluster import AeronCluster
from aerowire.cluster.module.consensus_module import ConsensusModule
from aerowire.cluster.services import ClientSession, ClusteredService
from aerowire.driver import Context
from aerowire.ipc.error_log import read_errors
from aerowire.nodes import ClusteredMediaDriver
from tests.support.processes import free_port
from tests.support.waiting import wait_until

LOCAL = "aeron:udp?endpoint=127.0.0.1:0"


class Echo(ClusteredService):
    """Answers each message with itself."""

    def on_session_message(self, session: ClientSession | None, message: bytes, _at: int) -> None:
        if session is not None:
            session.offer(message)


def launch(directory: Path, threading_mode: str, **more: Any) -> ClusteredMediaDriver:
    endpoints = [f"127.0.0.1:{free_port()}" for _ in range(5)]
    return ClusteredMediaDriver.launch(
        Context(aeron_dir=random_aeron_dir(), dir_delete_on_shutdown=True, threading_mode=threading_mode),
        archive={
            "archive_dir": directory / "archive",
            "control_channel": f"aeron:udp?endpoint={endpoints[4]}",
            "replication_channel": LOCAL,
            "segment_file_length": 64 * 1024,
            "low_storage_space_threshold": 0,
        },
        cluster={
            "cluster_dir": str(directory / "cluster"),
            "cluster_members": f"0,{','.join(endpoints)}",
            "ingress_channel": "aeron:udp",
            "log_channel": "aeron:udp?term-length=64k",
            "replication_channel": LOCAL,
            **more,
        },
        services=[Echo],
    )


def echo(node: ClusteredMediaDriver, aeron: Aeron, work: Callable[[], object] | None = None) -> None:
    """Have a message echoed."""
    heard: list[bytes] = []
    connecting = AeronCluster.async_connect(
        aeron=aeron,
        ingress_channel="aeron:udp",
        ingress_endpoints=f"0={node.consensus_module.context.member.ingress_endpoint}",
        egress_channel=LOCAL,
        egress_listener=lambda _session, _at, buffer, offset, length, _header: heard.append(bytes(buffer[offset : offset + length])),
    )
    wait_until(connecting.poll, "no session", work=work)
    client = connecting.result()
    wait_until(lambda: client.offer(b"hello") > 0, "no room in the ingress", work=work)

    def is_heard() -> bool:
        client.poll_egress()
        return heard == [b"hello"]

    wait_until(is_heard, "no echo", work=work)
    client.close()


def errors(module: ConsensusModule) -> list[str]:
    return [error.text for error in read_errors(module.agent._mark_file.error_log_buffer)]


def test_serves_clients_and_ends_in_order(tmp_path: Path) -> None:
    with launch(tmp_path, "SHARED") as node:
        directory = Path(node.aeron_dir)
        (container,) = node.containers
        assert (container.context.service_id, container.context.cluster_path) == (0, tmp_path / "cluster")
        with pytest.raises(ClosedError, match="threads of its own"):
            node.invoke()
        with Aeron.connect(node.aeron_dir) as aeron:
            echo(node, aeron)
        assert errors(node.consensus_module) == []
        assert not node.has_ended
    assert node.has_ended
    assert node.consensus_module.is_closed
    assert container.is_closed
    assert node.archive.is_closed
    assert not directory.exists()
    node.close()


def test_one_call_runs_all_parts_of_a_node_without_threads(tmp_path: Path) -> None:
    with launch(tmp_path, "INVOKER") as node:
        aeron = Aeron.connect(node.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=node.driver.invoker)
        echo(node, aeron, node.invoke)
        aeron.close()


def test_a_node_whose_consensus_module_cannot_start_leaves_nothing_running(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is no member of the cluster"):
        launch(tmp_path, "SHARED", cluster_member_id=7)
    with launch(tmp_path, "SHARED") as node:
        assert not node.has_ended
