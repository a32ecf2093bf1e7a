"""The same seed is the same world: in processes of their own, under several hash seeds, one after another and side by side.

A ledger has the digest of each world, over its packets, turns, clocks and messages, and what happened there in numbers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from aerowire.simulation.scenarios.catalogue import SCENARIOS
from tests.soak.bars import Part, Size

ROOT = Path(__file__).resolve().parents[3]
FIRST_SEED = 200_000
SEEDS = {Size.FULL: 200, Size.SMALL: 2}
NAMES = {Size.FULL: tuple(SCENARIOS), Size.SMALL: ("rough",)}
HASH_SEEDS = {Size.FULL: ("0", "1", "77", "4294967295", "random"), Size.SMALL: ("0", "random")}
LIMIT_S = 3_600


def entries_of(name: str, seeds: int, hash_seed: str, jobs: int, ledger: Path) -> list[dict[str, Any]]:
    """Run seeds of a scenario in a process of their own; return their entries, by seed."""
    command = [sys.executable, "-m", "aerowire.tools.main", "simulate", name, "--seeds", f"{FIRST_SEED}-{FIRST_SEED + seeds - 1}"]
    command += ["--jobs", str(jobs), "--repeat-every", "0", "--ledger", str(ledger)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(map(json.loads, ledger.read_text().splitlines()), key=lambda entry: int(entry["seed"]))


def run(name: str, size: Size, scratch: Path) -> str:
    first: list[dict[str, Any]] = []
    for number, hash_seed in enumerate(HASH_SEEDS[size]):
        jobs = 1 + number % 2
        entries = entries_of(name, SEEDS[size], hash_seed, jobs, scratch / f"{name}-{number}.jsonl")
        assert len({entry["digest"] for entry in entries}) == SEEDS[size]
        first = first or entries
        differing = [(one, other) for one, other in zip(first, entries, strict=True) if one != other]
        assert not differing, f"PYTHONHASHSEED={hash_seed}, --jobs {jobs}: {differing[0]}"
    packets = sum(entry["packets"] for entry in first)
    return f"{len(first)} seeds, {packets:,} packets: the same {len(HASH_SEEDS[size])} times, with 1 and 2 jobs"


def parts(size: Size) -> list[Part]:
    return [Part(name, FIRST_SEED, partial(run, name, size)) for name in NAMES[size]]
