"""Clusters of official members and our own: either leads, followers of either kind have the same log, and killed members come back.

Recordings of the log are compared byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.interop.cluster.mixed import MixedCluster
from tests.interop.cluster.talk import Ears, ask, poll_until
from tests.interop.harness import Driver, Side
from tests.interop.scenarios import Scenario

pytestmark = pytest.mark.interop

OURS: Side = "aerowire"
THEIRS: Side = "official"
MIXTURES = [(OURS, THEIRS, THEIRS), (THEIRS, OURS, OURS)]
MESSAGES = 200
# An official archive that was killed while it wrote over the end of a page starts again only if its frames have checksums.
CHECKSUMS = {"aeron.archive.record.checksum": "io.aeron.archive.checksum.Crc32"}


def begin(scenario: Scenario, feature: str, sides: Sequence[Side]) -> None:
    """Begin a row of the matrix."""
    scenario.next_feature(feature)
    scenario.row.publishing = f"aerowire cluster client on {', '.join(sides)} members"
    scenario.row.subscribing = ["echo services"]


def converse(scenario: Scenario, cluster: MixedCluster, driver: Driver) -> int:
    """Open a session, and compare what is said with what is echoed; return the leader's id."""
    ears = Ears()
    with cluster.connect(aeron_dir=driver.directory, egress_listener=ears) as client:
        poll_until(client, lambda: ears.messages == [b"opened"], "the opening")
        for number in range(MESSAGES):
            message = b"%d " % number + bytes(number % 250)
            assert ask(client, ears, message) == message
        scenario.row.messages += MESSAGES
        return client.leader_member_id


@pytest.mark.parametrize("leader_id", [0, 1])
@pytest.mark.parametrize("sides", MIXTURES, ids="-".join)
def test_either_kind_leads_and_is_followed(scenario: Scenario, sides: Sequence[Side], leader_id: int) -> None:
    begin(scenario, f"member {leader_id}, {sides[leader_id]}, leads", sides)
    cluster = MixedCluster(scenario, sides, {"aeron.cluster.appointed.leader.id": str(leader_id)})
    cluster.start()
    driver = scenario.driver("aerowire")
    assert cluster.leader_of(cluster.members).member_id == leader_id
    assert converse(scenario, cluster, driver) == leader_id
    cluster.assert_logs_equal(cluster.members)
    scenario.observed("echoes, and the same log in all archives, byte for byte")
    cluster.stop()
    scenario.finish()


@pytest.mark.parametrize("sides", MIXTURES, ids="-".join)
def test_leaders_of_either_kind_are_killed_and_come_back(scenario: Scenario, sides: Sequence[Side]) -> None:
    cluster = MixedCluster(scenario, sides, CHECKSUMS)
    cluster.start()
    driver = scenario.driver("aerowire")
    killed: set[Side] = set()
    for number in range(4):
        leader = cluster.leader_of(cluster.members)
        side = sides[leader.member_id]
        begin(scenario, f"kill {number + 1}: the leader is {side}", sides)
        converse(scenario, cluster, driver)
        leader.kill()
        others = [member for member in cluster.members if member is not leader]
        second = cluster.leader_of(others)
        assert converse(scenario, cluster, driver) == second.member_id
        cluster.restart(leader)
        cluster.leader_of(cluster.members)
        cluster.assert_logs_equal(cluster.members)
        scenario.observed("echoes of the new leader; the same log in all archives once the killed member is back")
        killed.add(side)
    assert killed <= {OURS, THEIRS}
    cluster.stop()
    scenario.finish()


def test_members_of_either_kind_that_were_away_for_terms_replicate_them(scenario: Scenario) -> None:
    sides: tuple[Side, ...] = (OURS, THEIRS, OURS)
    cluster = MixedCluster(scenario, sides, CHECKSUMS)
    cluster.start()
    driver = scenario.driver("aerowire")
    for away_id in (0, 1):
        away = cluster.members[away_id]
        others = [member for member in cluster.members if member is not away]
        begin(scenario, f"member {away_id}, {sides[away_id]}, is away for two terms", sides)
        cluster.leader_of(cluster.members)
        converse(scenario, cluster, driver)
        away.kill()
        for _ in range(2):
            leader = cluster.leader_of(others)
            converse(scenario, cluster, driver)
            leader.kill()
            cluster.restart(leader)
        cluster.leader_of(others)
        converse(scenario, cluster, driver)
        cluster.restart(away)
        cluster.leader_of(cluster.members)
        cluster.assert_logs_equal(cluster.members)
        scenario.observed("the same log in all archives, byte for byte")
    cluster.stop()
    scenario.finish()
