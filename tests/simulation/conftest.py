"""A world for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.simulation.world import SimulatedWorld


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SimulatedWorld]:
    made = SimulatedWorld(tmp_path, seed=1)
    yield made
    made.close()
