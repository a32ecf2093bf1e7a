"""Each fault that is planted in a copy of the driver's source is found by the seeds of a scenario, by the rule that it breaks."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.simulation.planted_transport import FAULTS, Planted, find, plant
from tests.soak.bars import Part, Size


def run(fault: Planted, scratch: Path) -> str:
    tree = scratch / "tree"
    tree.mkdir()
    plant(fault, tree)
    return find(fault, tree)


def parts(size: Size) -> list[Part]:
    """Return the parts. The small size is tests/simulation/test_planted_transport.py: the faults that need no compiler."""
    if size is Size.SMALL:
        return []
    return [Part(fault.name, 0, partial(run, fault)) for fault in FAULTS]
