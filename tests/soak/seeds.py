"""Seeds of all scenarios of the simulated world: no rule is broken, and each twentieth seed makes the same world twice."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from aerowire.simulation.scenarios.catalogue import SCENARIOS
from aerowire.tools.simulate.ledger import PASSED
from aerowire.tools.simulate.seeds import run_seed
from tests.soak.bars import Part, Size

SEEDS = {Size.FULL: 600, Size.SMALL: 3}  # of each scenario
FIRST_SEED = {Size.FULL: 0, Size.SMALL: 100_000}
REPEAT_EVERY = 20


def run(name: str, size: Size, _scratch: Path) -> str:
    first = FIRST_SEED[size]
    entries = []
    for seed in range(first, first + SEEDS[size]):
        entry, events = run_seed(name, seed, twice=seed % REPEAT_EVERY == 0)
        assert entry.outcome == PASSED, f"aerowire simulate {name} --seed {seed}: {entry.told}\n{events}"
        entries.append(entry)
    simulated_s = sum(entry.simulated_s for entry in entries)
    messages, packets = sum(entry.messages for entry in entries), sum(entry.packets for entry in entries)
    return f"{len(entries)} seeds, {simulated_s:,.0f} simulated s, {packets:,} packets, {messages:,} messages: all rules kept"


def parts(size: Size) -> list[Part]:
    return [Part(name, FIRST_SEED[size], partial(run, name, size)) for name in SCENARIOS]
