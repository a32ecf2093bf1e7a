"""Each fault that is planted in a copy of the cluster's package is found by seeds of its scenario, by a rule that it breaks."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.simulation.planted_cluster import FAULTS, find, plant
from tests.simulation.planted_transport import Planted
from tests.soak.bars import Part, Size


def run(fault: Planted, scratch: Path) -> str:
    tree = scratch / "tree"
    tree.mkdir()
    plant(fault, tree)
    return find(fault, tree)


def parts(size: Size) -> list[Part]:
    """Return the parts. The small size is tests/simulation/test_planted_cluster.py."""
    if size is Size.SMALL:
        return []
    return [Part(fault.name, 0, partial(run, fault)) for fault in FAULTS]
