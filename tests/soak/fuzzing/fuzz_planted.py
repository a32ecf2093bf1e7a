"""Each defect that is planted in a copy of the tree is found by the fuzzer within ten minutes on the sanitizer build."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from tests.soak.bars import Part, Size
from tests.soak.sanitized import run_sanitized

PLANTED = Path(__file__).resolve().parents[2] / "fuzz" / "planted"
PATCHES = sorted(PLANTED.glob("*.patch"))
SEED = 1801
LIMIT_S = 600
BUILD_S = 1800


def target_of(patch: Path) -> str:
    """Return the fuzz target that has to find a patch: its name up to the two hyphens."""
    return patch.name.partition("--")[0]


def find(patch: Path, scratch: Path) -> str:
    """Plant one defect and fuzz until it is found."""
    code, said = run_sanitized(
        "tests.fuzz",
        target_of(patch),
        f"--seconds={LIMIT_S}",
        f"--seed={SEED}",
        f"--findings={scratch}",
        patch=patch,
        timeout_s=LIMIT_S + BUILD_S,
    )
    found = re.search(r"FINDING after .*", said)
    assert code == 1, f"{patch.name} was not found: {said[-2000:]}"
    assert found, f"{patch.name} was not found: {said[-2000:]}"
    return found[0][:200]


def parts(size: Size) -> list[Part]:
    """Return the parts. The small size is tests/fuzz/test_planted.py: the patches apply."""
    if size is Size.SMALL:
        return []
    return [Part(patch.stem, SEED, partial(find, patch)) for patch in PATCHES]
