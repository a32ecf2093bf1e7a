"""Clusters of official members and our own that have the same extension in both languages, in place of services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from aerowire.cluster import AeronCluster, ExtensionMessage
from aerowire.codecs.tables.counters import CounterType
from tests.cluster.module.summing_extension import BODY, message
from tests.interop.cluster.mixed import MixedCluster, counters_of
from tests.interop.cluster.nodes import Member
from tests.interop.cluster.talk import Ears, poll_until
from tests.interop.harness import Driver, Side
from tests.interop.scenarios import Scenario, wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

OURS: Side = "aerowire"
THEIRS: Side = "official"
MESSAGES = 100
EXTENSION = {
    "aeron.cluster.consensus.module.extension": "tests.cluster.module.summing_extension:SummingExtension",
    "aeron.cluster.service.count": "0",
    # An official archive that was killed while it wrote over the end of a page starts again only if its frames have checksums.
    "aeron.archive.record.checksum": "io.aeron.archive.checksum.Crc32",
    "aeron.cluster.leader.heartbeat.timeout": "3s",
    "aeron.cluster.startup.canvass.timeout": "6s",
}


# An official member's program says it by itself.
OWN = ("aeron.cluster.consensus.module.extension", "aeron.cluster.service.count")


class ExtendedCluster(MixedCluster):
    """A cluster whose members have the summing extension: an official one by its own program."""

    program = "ExtensionNode"

    def _command(self, member: Member, properties: Mapping[str, str]) -> list[str]:
        is_official = self.sides[member.member_id] == THEIRS
        given = {name: value for name, value in properties.items() if not (is_official and name in OWN)}
        return super()._command(member, given)


class Talk:
    """One client of the cluster, from session to session; `total` is the sum of what it has sent."""

    def __init__(self, scenario: Scenario, cluster: ExtendedCluster, driver: Driver) -> None:
        self.total = 0
        self._scenario = scenario
        self._cluster = cluster
        self._driver = driver

    def send(self) -> None:
        """Send numbers to the leader, each when the one before is answered by the sum."""
        answers: list[ExtensionMessage] = []
        options = {"aeron_dir": self._driver.directory, "egress_listener": Ears(), "extension_listener": answers.append}
        with self._cluster.connect(**options) as client:
            for number in range(MESSAGES):
                self._ask(client, answers, number)
        self._scenario.row.messages += MESSAGES

    def _ask(self, client: AeronCluster, answers: list[ExtensionMessage], number: int) -> None:
        publication, session_id = client.ingress_publication, client.cluster_session_id
        assert publication is not None
        count = len(answers)
        encoded = message(number, session_id).encode()
        poll_until(client, lambda: publication.offer(encoded) > 0, "room in the ingress", keeps_alive=False)
        poll_until(client, lambda: len(answers) > count, "the sum")
        self.total += number
        assert BODY.unpack(answers[count].payload) == (self.total, session_id)


@pytest.mark.parametrize("sides", [(OURS, THEIRS, THEIRS), (THEIRS, OURS, OURS)], ids="-".join)
def test_extensions_of_both_languages_apply_the_same_log(scenario: Scenario, sides: Sequence[Side]) -> None:
    cluster = ExtendedCluster(scenario, sides, EXTENSION)
    cluster.start()
    driver = scenario.driver(OURS)
    talk = Talk(scenario, cluster, driver)
    scenario.feature("Extensions of the consensus module, over a snapshot and a fail-over")
    scenario.row.publishing = f"aerowire cluster client on {', '.join(sides)} members"
    scenario.row.subscribing = ["summing extensions"]

    leader = cluster.leader_of(cluster.members)
    talk.send()
    scenario.bench.java.run_tool("io.aeron.cluster.ClusterTool", leader.aeron_dir, str(leader.directory / "cluster"), "snapshot")
    wait_until(lambda: all(counters_of(member).get(CounterType.CLUSTER_SNAPSHOT) == 1 for member in cluster.members), "three snapshots")
    talk.send()
    cluster.assert_logs_equal(cluster.members)
    leader = cluster.leader_of(cluster.members)
    leader.kill()
    cluster.leader_of([member for member in cluster.members if member is not leader])
    talk.send()
    cluster.restart(leader)
    cluster.leader_of(cluster.members)
    talk.send()
    cluster.assert_logs_equal(cluster.members)
    scenario.observed("each sum, from extensions of either language; the same log in all archives, byte for byte")
    cluster.stop()
    scenario.finish()
