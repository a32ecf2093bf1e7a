"""Seeds of all scenarios of the simulated world: no rule is broken, and each twentieth seed makes the same world twice.

At full size outcomes are kept in soak/seeds.jsonl, so that an interrupted part goes on where it was. seeds.jsonl beside this file is the
ledger of the last whole run, with the version of the code that it was made with.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from aerowire.simulation.scenarios.catalogue import SCENARIOS
from aerowire.tools.simulate.ledger import PASSED
from aerowire.tools.simulate.seeds import run_seed
from tests.soak.bars import Part, Size

ROOT = Path(__file__).resolve().parents[3]
LEDGER = ROOT / "soak" / "seeds.jsonl"
SEEDS = 600  # of each scenario
SEEDS_OF_PART = 100
# At small size, where tests/simulation/scenarios has a seed of every scenario.
FEW, FEW_SEEDS = ("crashes",), range(100_000, 100_001)
REPEAT_EVERY = 20


def run_many(name: str, seeds: range, _scratch: Path, *, ledger: Path = LEDGER) -> str:
    """Run seeds by the command, on all processors; return its closing line."""
    ledger.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "aerowire.tools.main", "simulate", name, "--seeds", f"{seeds[0]}-{seeds[-1]}"]
    command += ["--jobs", str(os.cpu_count() or 1), "--repeat-every", str(REPEAT_EVERY), "--ledger", str(ledger)]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()[-1]


def run_few(name: str, _scratch: Path) -> str:
    entries = []
    for seed in FEW_SEEDS:
        entry, events = run_seed(name, seed, twice=seed % REPEAT_EVERY == 0)
        assert entry.outcome == PASSED, f"aerowire simulate {name} --seed {seed}: {entry.told}\n{events}"
        entries.append(entry)
    simulated_s = sum(entry.simulated_s for entry in entries)
    messages, packets = sum(entry.messages for entry in entries), sum(entry.packets for entry in entries)
    return f"{len(entries)} seeds, {simulated_s:,.0f} simulated s, {packets:,} packets, {messages:,} messages: all rules kept"


def parts(size: Size) -> list[Part]:
    if size is Size.SMALL:
        return [Part(name, FEW_SEEDS[0], partial(run_few, name)) for name in FEW]
    blocks = [range(first, first + SEEDS_OF_PART) for first in range(0, SEEDS, SEEDS_OF_PART)]
    return [Part(f"{name}-{block[0]}", block[0], partial(run_many, name, block)) for name in SCENARIOS for block in blocks]
