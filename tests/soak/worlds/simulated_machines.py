"""Random worlds of consensus machines alone: Raft's rules hold in a million of them.

At full size the outcome of each block of seeds is kept in soak/machines.jsonl, so that an interrupted part goes on where it was.
`python -m tests.soak.worlds.simulated_machines COUNT` runs that many seeds without a ledger.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import blake2b
from pathlib import Path

from aerowire.tools.simulate.code_version import code_version
from aerowire.tools.simulate.ledger import FAILED, PASSED, Entry, Ledger
from tests.cluster.consensus.checkers import ViolationError
from tests.cluster.consensus.random_world import RandomWorld
from tests.soak.bars import Part, Size

ROOT = Path(__file__).resolve().parents[3]
LEDGER = ROOT / "soak" / "machines.jsonl"
NAME = "machines"
SEEDS_OF_BLOCK = 1_000
BLOCKS = 1_000
BLOCKS_OF_PART = 50


def run_seeds(seeds: range, number: int, version: str) -> Entry:
    """Run seeds one after another, up to the first that breaks a rule; return their outcome as the entry of a ledger by a number."""
    steps = simulated_ns = messages = committed = 0
    digest = blake2b(digest_size=8)
    told = ""
    for seed in seeds:
        world = RandomWorld(seed)
        try:
            world.run()
        except ViolationError as violation:
            told = f"seed {seed}: {violation}"
        chains = world.checkers.committed
        steps, simulated_ns = steps + world.steps, simulated_ns + world.now_ns
        messages, committed = messages + world.sent, committed + len(chains)
        digest.update(b"%d %d %d;" % (seed, world.now_ns, chains[-1] if chains else 0))
        if told:
            break
    outcome = FAILED if told else PASSED
    return Entry(NAME, number, version, outcome, steps, round(simulated_ns / 1e9, 1), messages, committed, digest.hexdigest(), told)


def run_blocks(blocks: range, _scratch: Path, *, ledger: Path = LEDGER) -> str:
    """Run the blocks that have not passed yet, on all processors; return what was simulated."""
    ledger.parent.mkdir(exist_ok=True)
    version = code_version()
    with Ledger(ledger, version) as kept:
        known = {block: kept.find(NAME, block) for block in blocks}
        entries = [entry for entry in known.values() if entry is not None and entry.outcome == PASSED]
        missing = [block for block in blocks if known[block] not in entries]
        for entry in _on_all_processors([(_seeds_of(block), block) for block in missing], version):
            kept.add(entry)
            assert entry.outcome == PASSED, entry.told
            entries.append(entry)
    return f"{len(entries) * SEEDS_OF_BLOCK:,} seeds, {_totals(entries)}: all rules kept"


def parts(size: Size) -> list[Part]:
    """Return the parts. The small size is tests/cluster/consensus."""
    if size is Size.SMALL:
        return []
    ranges = [range(first, first + BLOCKS_OF_PART) for first in range(0, BLOCKS, BLOCKS_OF_PART)]
    return [Part(f"blocks-{blocks[0]}", blocks[0] * SEEDS_OF_BLOCK, partial(run_blocks, blocks)) for blocks in ranges]


def main(argv: Sequence[str] | None = None) -> int:
    """Run seeds from 0 on, and say which of them have broken a rule."""
    parser = argparse.ArgumentParser(description="Run random worlds of consensus machines.")
    parser.add_argument("count", type=int, metavar="COUNT", help="how many seeds")
    count, started = parser.parse_args(argv).count, time.monotonic()
    # Small pieces, so that all processors end at about the same time.
    pieces = [(range(first, min(first + 100, count)), first) for first in range(0, count, 100)]
    entries = list(_on_all_processors(pieces, ""))
    wrong = [entry.told for entry in entries if entry.outcome != PASSED]
    for told in wrong:
        print(told)
    outcome = f"{len(wrong)} broken rules" if wrong else "all rules kept"
    print(f"{count:,} seeds in {time.monotonic() - started:.0f} s, {_totals(entries)}: {outcome}")
    return 1 if wrong else 0


def _seeds_of(block: int) -> range:
    return range(block * SEEDS_OF_BLOCK, (block + 1) * SEEDS_OF_BLOCK)


def _on_all_processors(pieces: Sequence[tuple[range, int]], version: str) -> Iterator[Entry]:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(partial(run_seeds, version=version), *zip(*pieces, strict=True)) if pieces else ()


def _totals(entries: Sequence[Entry]) -> str:
    messages, committed = sum(entry.packets for entry in entries), sum(entry.messages for entry in entries)
    return f"{sum(entry.simulated_s for entry in entries):,.0f} simulated s, {messages:,} messages, {committed:,} entries committed"


if __name__ == "__main__":
    sys.exit(main())
