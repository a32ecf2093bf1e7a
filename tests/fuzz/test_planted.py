"""The planted defects fit the source as it is: each patch applies, and names the target that has to find it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fuzz.catalogue import TARGETS
from tests.soak.fuzzing.fuzz_planted import PATCHES, target_of

ROOT = Path(__file__).resolve().parents[2]
COUNT_MIN = 20


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_patch_applies(patch: Path) -> None:
    done = subprocess.run(
        ["patch", "--dry-run", "-s", "-p1", "-i", str(patch)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_enough_patches() -> None:
    assert len(PATCHES) >= COUNT_MIN


def test_each_patch_names_a_target_and_differs() -> None:
    assert {target_of(patch) for patch in PATCHES} <= set(TARGETS)
    assert len({patch.read_text() for patch in PATCHES}) == len(PATCHES)
