"""Every operation and every refusal of an archive: our client gets what the official client gets."""

from __future__ import annotations

import pytest

from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from tests.interop.archive.nodes import ArchiveNode, finish, response_channel, start_archive
from tests.interop.archive.operations import Operations
from tests.interop.archive.work import Told, told_by_peer
from tests.interop.harness import Side
from tests.interop.scenarios import LIMIT_S, Scenario

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# The archive answers RECORDING_UNKNOWN in place of an error: "unexpected response code" to the official client, a code to ours.
BETTER = {"update channel of unknown": f"error {ArchiveErrorCode.UNKNOWN_RECORDING}"}


def replay_by_response(transport: str) -> str:
    """Return the response channel of a replay; none where the archive has no UDP channel."""
    return "" if transport == "ipc" else response_channel()


def official_outcome(scenario: Scenario, node: ArchiveNode, transport: str) -> list[Told]:
    """Return what the official client gets on a fresh archive."""
    requests, responses = node.channels(transport)
    peer = scenario.bench.java.command(
        "ArchiveOperations",
        f"dir={node.driver.directory}",
        f"requests={requests}",
        f"responses={responses}",
        f"source={node.control_channel}",
        f"response={replay_by_response(transport)}",
        f"timeout={int(LIMIT_S)}",
    )
    process = scenario.bench.workshop.start("official operations", peer)
    found = []
    while "operation" in (line := process.result(LIMIT_S)):
        found.append(told_by_peer(line))
    assert process.finish() == 0, process.said()
    return found


@pytest.mark.parametrize("transport", ["udp", "ipc"])
@pytest.mark.parametrize("driver_side", ["official", "aerowire"])
def test_every_operation_ends_as_with_the_official_client(scenario: Scenario, driver_side: Side, transport: str) -> None:
    scenario.feature(f"Archive client by {transport}: every operation and refusal")
    first, second = (start_archive(scenario, "official", scenario.driver(driver_side)) for _ in range(2))
    expected = official_outcome(scenario, first, transport)
    found = Operations(
        lambda **options: second.connect(transport, **options),
        source=second.control_channel,
        response=replay_by_response(transport) or None,
    ).run()
    assert found == [(name, BETTER.get(name, result)) for name, result, _ in expected]
    assert len(found) > 80
    assert not [result for _, result in found if result.startswith("exception")]
    scenario.observed(f"{len(found)} operations, of which {sum(result.startswith('error') for _, result in found)} were refused")
    finish(scenario, first, second)
