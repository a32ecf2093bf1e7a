"""Archives that are killed, lose power and have failing disks, again and again: what they have acknowledged is there in the next life."""

from __future__ import annotations

import pytest

from tests.simulation.archive_lives import live


# 171: a frame that a failed write left half done was taken for recorded.
@pytest.mark.parametrize("seed", [*range(7), 171])
def test_what_an_archive_has_acknowledged_is_there_in_its_next_life(seed: int) -> None:
    live(seed)
