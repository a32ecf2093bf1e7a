"""System counters that the conductor writes, of whole drivers in virtual time."""

from __future__ import annotations

import pytest

from aerowire.codecs.flyweights.cnc import CONTROL_PROTOCOL_VERSION
from aerowire.codecs.flyweights.commands import AddPublicationEncoder, CommandType, RemovePublicationEncoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.version import AERON_VERSION
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.world import SimulatedWorld

SECOND = 1_000_000_000


def get(host: SimulatedHost, which: SystemCounter) -> int:
    return host.cnc.counters_reader().value(which)


def test_versions_are_there_from_the_start(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", counters_buffer_length="1m")
    assert get(host, SystemCounter.AERON_VERSION) == AERON_VERSION
    assert get(host, SystemCounter.CONTROL_PROTOCOL_VERSION) == CONTROL_PROTOCOL_VERSION


def test_a_claim_that_its_client_never_finishes_is_unblocked_and_counted(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", counters_buffer_length="1m", client_liveness_timeout_ns="2s")
    ring = host.cnc.to_driver
    assert ring.try_claim(CommandType.CLIENT_KEEPALIVE, 16) > 0
    world.run(SECOND)
    assert (get(host, SystemCounter.UNBLOCKED_COMMANDS), ring.size > 0) == (0, True)
    assert world.run(5 * SECOND, until=lambda: ring.size == 0)
    assert get(host, SystemCounter.UNBLOCKED_COMMANDS) == 1


def test_a_log_that_cannot_be_deleted_is_counted(world: SimulatedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"counters_buffer_length": "1m", "ipc_term_buffer_length": "64k", "publication_linger_timeout_ns": "1ms"}
    host = world.add_host("10.0.0.1", **options)
    ring = host.cnc.to_driver
    client_id, correlation_id = ring.next_correlation_id(), ring.next_correlation_id()
    add = AddPublicationEncoder.encode(client_id=client_id, correlation_id=correlation_id, stream_id=10, channel="aeron:ipc")
    ring.write(CommandType.ADD_PUBLICATION, add)
    world.run(SECOND // 10)

    def refuse(_path: object) -> bool:
        raise PermissionError(13, "not yours")

    monkeypatch.setattr(host.driver.conductor.core.logs, "_regions", _Undeletable(refuse))
    remove = RemovePublicationEncoder.encode(
        client_id=client_id, correlation_id=ring.next_correlation_id(), registration_id=correlation_id, flags=0
    )
    ring.write(CommandType.REMOVE_PUBLICATION, remove)
    assert world.run(30 * SECOND, until=lambda: get(host, SystemCounter.FREE_FAILS) > 0)
    assert get(host, SystemCounter.ERRORS) > 0


class _Undeletable:
    """Regions of which nothing can be deleted."""

    def __init__(self, delete: object) -> None:
        self.delete = delete
