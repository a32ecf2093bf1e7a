"""Twenty million hostile datagrams that the rules accept, on the sanitizer build.

Driver and clients live, the streams of others are whole, each poll ends within its time, memory stays flat, and no sanitizer reports.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.fuzz.grammar.run import run_campaign
from tests.soak.bars import Part, Size
from tests.soak.sanitized import ROOT, run_sanitized

# Datagrams of a part (a quarter of an hour at full size), and how many parts there are.
COUNT = {Size.FULL: 1_000_000, Size.SMALL: 3_000}
PARTS = {Size.FULL: 20, Size.SMALL: 1}
EPISODE = 5_000
SEED = 1801
ACCEPTED_SHARE = 0.9


def run_ordinary(count: int, seed: int, scratch: Path) -> str:
    """Run a campaign on the ordinary build; what it finds is minimised and named in the failure."""
    campaign = run_campaign(seed, count, save_to=scratch)
    assert not campaign.finding, f"{campaign.finding}; seed {seed}, saved as {campaign.saved}"
    assert campaign.datagrams >= count
    assert campaign.accepted_share > ACCEPTED_SHARE, campaign.summary()
    return campaign.summary()


def run(count: int, seed: int, _scratch: Path) -> str:
    """Run a campaign on the sanitizer build; what it finds is minimised and saved in soak/fuzz/findings."""
    code, said = run_sanitized(
        "tests.fuzz.grammar.run",
        f"--seed={seed}",
        f"--count={count}",
        f"--length={EPISODE}",
        f"--save={ROOT / 'soak' / 'fuzz' / 'findings'}",
    )
    assert code == 0, f"seed {seed}: {said[-4000:]}"
    summary = next(line for line in said.splitlines() if line.startswith(f"seed {seed}: "))
    share = float(summary.partition("% accepted")[0].rpartition(" ")[2]) / 100
    assert share > ACCEPTED_SHARE, summary
    return summary


def parts(size: Size) -> list[Part]:
    """Return the parts, each with a seed of its own. The small one runs on an ordinary build: sanitizers may be missing."""
    chosen = run if size is Size.FULL else run_ordinary
    return [Part(f"accepted-{SEED + at}", SEED + at, partial(chosen, COUNT[size], SEED + at)) for at in range(PARTS[size])]
