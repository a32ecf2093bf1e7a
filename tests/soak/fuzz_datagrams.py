"""Twenty million hostile datagrams that the rules accept.

Driver and clients live, the streams of others are whole, each poll ends within its time, and memory stays flat.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.fuzz.grammar.run import run_campaign
from tests.soak.bars import Part, Size

# Datagrams of a part, and how many parts there are.
COUNT = {Size.FULL: 1_000_000, Size.SMALL: 3_000}
PARTS = {Size.FULL: 20, Size.SMALL: 1}
SEED = 1801
ACCEPTED_SHARE = 0.9


def run(count: int, seed: int, scratch: Path) -> str:
    """Run a campaign; what it finds is minimised and named in the failure."""
    campaign = run_campaign(seed, count, save_to=None if count > COUNT[Size.SMALL] else scratch)
    assert not campaign.finding, f"{campaign.finding}; seed {seed}, saved as {campaign.saved}"
    assert campaign.datagrams >= count
    assert campaign.accepted_share > ACCEPTED_SHARE, campaign.summary()
    return campaign.summary()


def parts(size: Size) -> list[Part]:
    """Return the parts, each with a seed of its own."""
    return [Part(f"accepted-{SEED + at}", SEED + at, partial(run, COUNT[size], SEED + at)) for at in range(PARTS[size])]
