"""A simulated world for tests of the cluster's client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aerowire.simulation.world import SimulatedWorld


@pytest.fixture
def world() -> Iterator[SimulatedWorld]:
    with SimulatedWorld(seed=1) as found:
        yield found
