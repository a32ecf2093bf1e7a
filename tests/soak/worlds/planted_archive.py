"""Each fault that is planted in a copy of the archive's source is found by the seeds of its scenario, by a rule that it breaks."""

from __future__ import annotations

from tests.simulation.planted.planted_archive import FAULTS
from tests.soak.bars import Part, Size
from tests.soak.worlds.planted_transport import parts_of


def parts(size: Size) -> list[Part]:
    """Return the parts. The small size is tests/simulation/planted/test_planted_archive.py: two faults that need no compiler."""
    return parts_of(FAULTS, size)
