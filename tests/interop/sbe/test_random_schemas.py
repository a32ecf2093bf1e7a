"""Schemas that nobody would write: what the official tool makes of them, we make of them.  `make soak BAR=sbe-official` runs more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.sbe.agreement import Drawn, check_all
from tests.interop.sbe.official import OfficialTool

pytestmark = pytest.mark.interop

SCHEMAS = 10
MESSAGES = 6


@pytest.mark.parametrize("seed", range(SCHEMAS))
def test_a_random_schema_means_the_same_to_both(official: OfficialTool, seed: int, tmp_path: Path) -> None:
    assert check_all(official, Drawn.of(seed, tmp_path), MESSAGES) == MESSAGES
