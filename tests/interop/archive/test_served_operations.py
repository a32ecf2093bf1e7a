"""Every operation and every refusal of our archive: the official client, and ours, get what the official archive gives them."""

from __future__ import annotations

import pytest

from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from tests.interop.archive.nodes import finish, start_archive
from tests.interop.archive.operations import Operations
from tests.interop.archive.test_operations import official_outcome, replay_by_response
from tests.interop.harness import Side
from tests.interop.scenarios import Scenario

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# The official archive gives this error no code of its own.
BETTER = {"replay from within a frame": f"error {ArchiveErrorCode.INVALID_POSITION}"}

# Refusals in words of our archive's own, which say what was expected and what was found.
OUR_WORDS = {"start on a channel that is none", "replay from an aligned place without a frame", "replay bounded by no counter"}


@pytest.mark.parametrize("transport", ["udp", "ipc"])
@pytest.mark.parametrize("driver_side", ["official", "aerowire"])
def test_the_official_client_gets_what_the_official_archive_gives(scenario: Scenario, driver_side: Side, transport: str) -> None:
    scenario.feature(f"Archive by {transport}: every operation and refusal, of the official client")
    official = start_archive(scenario, "official", scenario.driver("official"))
    ours = start_archive(scenario, "aerowire", scenario.driver(driver_side))
    expected = official_outcome(scenario, official, transport)
    found = official_outcome(scenario, ours, transport)
    assert [told[:2] for told in found] == [(name, BETTER.get(name, result)) for name, result, _ in expected]
    assert {told[0] for told, wanted in zip(found, expected, strict=True) if told[2] != wanted[2]} == OUR_WORDS
    assert len(found) > 80
    scenario.observed(f"{len(found)} operations, of which {sum(result.startswith('error') for _, result, _ in found)} were refused")
    finish(scenario, ours, official)


@pytest.mark.parametrize("transport", ["udp", "ipc"])
def test_our_client_gets_the_same_from_both_archives(scenario: Scenario, transport: str) -> None:
    scenario.feature(f"Archive by {transport}: every operation and refusal, of our client")
    nodes = [start_archive(scenario, side, scenario.driver("aerowire")) for side in ("aerowire", "official")]
    found, expected = (
        Operations(
            lambda node=node, **options: node.connect(transport, **options),
            source=node.control_channel,
            response=replay_by_response(transport) or None,
        ).run()
        for node in nodes
    )
    assert found == [(name, BETTER.get(name, result)) for name, result in expected]
    finish(scenario, *nodes)
