"""Faults planted in the driver's Python source are found by seeds; the soak plants those in native source too."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.simulation.planted.planted_transport import FAULTS, Planted, find, plant
from tests.simulation.planted.planting import PLANTED, ROOT

SEEDS = 5  # each is found by the first or the second


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if not fault.is_native], ids=lambda fault: fault.name)
def test_fault_is_found(fault: Planted, tmp_path: Path) -> None:
    plant(fault, tmp_path)
    print(find(fault, tmp_path, seeds=SEEDS))


def test_there_is_a_patch_of_each_fault() -> None:
    assert {fault.patch for fault in FAULTS} == set(PLANTED.glob("transport--*.patch"))
    assert len(FAULTS) == 9


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_patch_applies(fault: Planted) -> None:
    command = ["patch", "--dry-run", "-s", "-p1", "-i", str(fault.patch)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
