"""kill -9 of members: some kills of those that a soak makes by the hundred, and a cluster of five of which two are away."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.conftest import SEED
from tests.interop.cluster.kills import Kills
from tests.interop.cluster.mixed import MixedCluster
from tests.interop.cluster.number_client import NumberClient
from tests.interop.harness import Side
from tests.interop.scenarios import Scenario

pytestmark = pytest.mark.interop

OURS: Side = "aerowire"
THEIRS: Side = "official"
PROPERTIES = {
    # An official archive that was killed while it wrote over the end of a page starts again only if its frames have checksums.
    "aeron.archive.record.checksum": "io.aeron.archive.checksum.Crc32",
    "aeron.archive.segment.file.length": "16m",
}


def begin(scenario: Scenario, feature: str, sides: Sequence[Side]) -> tuple[MixedCluster, NumberClient]:
    """Start a cluster, and a client that sends numbers to it."""
    scenario.feature(feature)
    scenario.row.publishing = f"aerowire cluster client on {', '.join(sides)} members"
    scenario.row.subscribing = ["echo services"]
    cluster = MixedCluster(scenario, sides, PROPERTIES)
    cluster.start()
    return cluster, NumberClient(cluster, scenario.driver(OURS).directory)


def finish(scenario: Scenario, killing: Kills) -> None:
    """Compare the members, and end."""
    scenario.observed(killing.verify())
    scenario.row.messages = len(killing.client.answered)
    killing.cluster.assert_logs_equal(killing.cluster.members)
    scenario.observed("the same log in all archives, byte for byte")
    killing.client.close()
    killing.cluster.stop()
    scenario.finish()


def test_random_kills_lose_nothing_that_was_answered(scenario: Scenario) -> None:
    cluster, client = begin(scenario, "3 random kills", (OURS, THEIRS, OURS))
    killing = Kills(cluster, client, random.Random(SEED))
    killing.heal()
    for _ in range(3):
        killing.kill_any()
    finish(scenario, killing)


@pytest.mark.parametrize("sides", [(OURS,) * 5, (OURS, THEIRS, OURS, THEIRS, OURS)], ids="-".join)
def test_five_members_go_on_without_two_of_them(scenario: Scenario, sides: tuple[Side, ...]) -> None:
    cluster, client = begin(scenario, "5 members, the leader and another one are killed", sides)
    killing = Kills(cluster, client, random.Random(SEED))
    killing.heal()
    killing.kill_leader()
    killing.kill_follower()
    killing.await_answers()
    finish(scenario, killing)
