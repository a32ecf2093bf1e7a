"""Each fault that is planted in a copy of the driver's source is found by the seeds of a scenario, by the rule that it breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from tests.simulation.planted.planted_transport import FAULTS, Planted, find, plant
from tests.soak.bars import Part, Size

Plant = Callable[[Planted, Path], object]
Find = Callable[[Planted, Path], str]


def run(fault: Planted, scratch: Path, *, plant: Plant, find: Find) -> str:
    """Plant a fault in a copy, and return what has found it there."""
    tree = scratch / "tree"
    tree.mkdir()
    plant(fault, tree)
    return find(fault, tree)


def parts_of(faults: Iterable[Planted], size: Size, plant: Plant = plant, find: Find = find) -> list[Part]:
    """Return a part for each fault at full size; none at small size, which `make test` has."""
    if size is Size.SMALL:
        return []
    return [Part(fault.name, 0, partial(run, fault, plant=plant, find=find)) for fault in faults]


def parts(size: Size) -> list[Part]:
    """Return the parts. The small size is tests/simulation/planted/test_planted_transport.py: the faults that need no compiler."""
    return parts_of(FAULTS, size)
