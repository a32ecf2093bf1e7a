"""A world for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aerowire.simulation.world import SimulatedWorld


@pytest.fixture
def world() -> Iterator[SimulatedWorld]:
    made = SimulatedWorld(seed=1)
    yield made
    made.close()
