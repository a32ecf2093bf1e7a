"""The suite finds faults in the driver's own source; the soak plants them all, here the seed draws one."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from aerowire.conformance.catalogue import all_cases
from tests.conformance.planting import PATCHES, case_of, check_planted


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed, which applies the patches")
@pytest.mark.timeout(300)
def test_planted_fault_is_found_and_the_sound_copy_passes(tmp_path: Path, seed: int) -> None:
    print(check_planted([random.Random(seed).choice(PATCHES)], tmp_path, seed))


def test_each_patch_names_a_case_and_is_of_its_own() -> None:
    known = {case.id for case in all_cases()}
    assert {case_of(patch) for patch in PATCHES} <= known
    assert len({patch.read_text() for patch in PATCHES}) == len(PATCHES)
