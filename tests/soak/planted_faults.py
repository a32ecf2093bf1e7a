"""Every fault that is planted in a copy of the driver's source is found by the case that claims the rule, and the sound copy passes it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.conformance.planting import PATCHES, case_of, check_planted
from tests.soak.bars import Part, Size

SEED = 45


def find(group: str, scratch: Path) -> str:
    return check_planted([patch for patch in PATCHES if case_of(patch)[0] == group], scratch, SEED)


def parts(size: Size) -> list[Part]:
    # The small size draws one by the run's seed: tests/conformance/test_planted_faults.py.
    if size is Size.SMALL:
        return []
    return [Part(f"group-{group}", SEED, partial(find, group)) for group in sorted({case_of(patch)[0] for patch in PATCHES})]
