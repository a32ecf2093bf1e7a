"""Each fault that is planted in a copy of the cluster's package is found by seeds of its scenario, by a rule that it breaks."""

from __future__ import annotations

from tests.simulation.planted.planted_cluster import FAULTS, find, plant
from tests.soak.bars import Part, Size
from tests.soak.worlds.planted_transport import parts_of


def parts(size: Size) -> list[Part]:
    """Return the parts. The small size is tests/simulation/planted/test_planted_cluster.py."""
    return parts_of(FAULTS, size, plant, find)
