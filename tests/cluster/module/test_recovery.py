"""A member waits for its services, which may end before all of them have recovered."""

from __future__ import annotations

from pathlib import Path

from aerowire.client import Aeron
from aerowire.codecs.tables.counters import CounterType
from tests.cluster.module.nodes import Node, run
from tests.cluster.module.scripted_service import ScriptedService
from tests.support.processes import free_port


def test_a_member_ends_when_a_service_has_ended_before_the_others_have_recovered(tmp_path: Path) -> None:
    endpoints = [f"127.0.0.1:{free_port()}" for _ in range(5)]
    node = Node(tmp_path, f"0,{','.join(endpoints)}", 0, endpoints[4], service_count=2)
    try:
        node.start()
        run([node], lambda: node.service is not None and node.service._ack_id == 1)
        first, module = node.service, node.module
        assert first is not None
        assert module is not None
        second = Aeron.connect(node.driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=node.driver.invoker)
        client_id = first.aeron.client_id
        first.aeron.close()
        node.service = None
        gone = (CounterType.CLIENT_HEARTBEAT, client_id)
        run([node], lambda: gone not in {(info.type_id, info.registration_id) for info in module.aeron.counters_reader.for_each()})
        node.service = ScriptedService(second, service_id=1)
        run([node], lambda: module.has_ended)
        assert any("a service has ended while the others recovered" in error for error in node.errors)
    finally:
        node.close()
