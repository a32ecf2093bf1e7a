"""kill -9 of members of clusters of official members and our own, a hundred times each, and of the leaders of a cluster of ours."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

from tests.interop.cluster.kills import Kills
from tests.interop.cluster.mixed import MixedCluster
from tests.interop.cluster.number_client import NumberClient
from tests.interop.harness import Bench, Java, Side, find_java
from tests.interop.scenarios import Scenario
from tests.soak.bars import Part, Size
from tests.support.processes import open_workshop

KILLS = 100
MIXED_SEED, LEADERS_SEED = 4_100, 4_200
OURS: Side = "aerowire"
THEIRS: Side = "official"
MIXTURES: dict[str, tuple[Side, ...]] = {
    "three-two-of-ours": (OURS, THEIRS, OURS),
    "three-one-of-ours": (THEIRS, OURS, THEIRS),
    "five": (OURS, THEIRS, OURS, THEIRS, OURS),
}
PROPERTIES = {
    # An official archive that was killed while it wrote over the end of a page starts again only if its frames have checksums.
    "aeron.archive.record.checksum": "io.aeron.archive.checksum.Crc32",
    "aeron.archive.segment.file.length": "16m",
}
NO_JAVA = Java("java", Path(), Path())  # of a cluster without official members


def run(kills: int, seed: int, sides: tuple[Side, ...], scratch: Path, *, of_leaders: bool) -> str:
    """Kill members of a new cluster; return what was measured."""
    java = find_java() if THEIRS in sides else NO_JAVA
    with open_workshop(scratch) as workshop:
        scenario = Scenario(Bench(java, workshop), 0)
        cluster = MixedCluster(scenario, sides, PROPERTIES)
        cluster.start()
        client = NumberClient(cluster, scenario.driver(OURS).directory)
        killing = Kills(cluster, client, random.Random(seed))
        killing.heal()
        for number in range(kills):
            killed = killing.kill_leader() if of_leaders else killing.kill_any()
            print(f"seed {seed}, kill {number + 1}: {killed}", flush=True)
        measured = killing.verify()
        client.close()
        cluster.stop()
    return measured


def parts(size: Size) -> list[Part]:
    """Return the mixed clusters. Nothing at small size: `make interop` kills some members."""
    mixtures = MIXTURES.items() if size is Size.FULL else ()
    return [Part(name, seed, partial(run, KILLS, seed, sides, of_leaders=False)) for seed, (name, sides) in enumerate(mixtures, MIXED_SEED)]


def leader_parts(size: Size) -> list[Part]:
    """Return a cluster of ours whose leaders are killed. Nothing at small size, as above."""
    task = partial(run, KILLS, LEADERS_SEED, (OURS,) * 3, of_leaders=True)
    return [Part("three", LEADERS_SEED, task)] if size is Size.FULL else []
