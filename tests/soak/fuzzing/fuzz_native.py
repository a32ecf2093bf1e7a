"""A hundred million executions of the coverage-guided fuzzer on the sanitizer build: no report, no crash, no spin, memory flat.

The corpus grows in soak/fuzz/corpus from part to part; inputs that fail are saved in soak/fuzz/findings.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.soak.bars import Part, Size
from tests.soak.sanitized import ROOT, run_sanitized

# Parts of each target, and executions of a part: at most an hour of one processor each, by what a target does in a second (20,000 records
# of a ring buffer, 30 captures); together 101 million in about eight hours of one processor, half of them for the slowest 5 million.
PARTS = {
    "ring": (24, 1_000_000),
    "broadcast": (16, 1_000_000),
    "counters": (4, 1_000_000),
    "error-log": (12, 1_000_000),
    "loss-report": (16, 1_000_000),
    "cubic": (14, 1_000_000),
    "sbe-json": (8, 1_000_000),
    "log-metadata": (3, 500_000),
    "log-polls": (3, 200_000),
    "cnc": (2, 1_000_000),
    "sender": (2, 300_000),
    "receiver": (1, 250_000),
    "gossip": (1, 1_000_000),
    "channel": (1, 500_000),
    "sbe": (1, 250_000),
    "ports": (1, 80_000),
    "commands": (1, 80_000),
    "pcap": (1, 50_000),
    "recordings": (1, 50_000),
    "layout-schema": (1, 50_000),
    "sbe-schema": (1, 40_000),
}
SEED = 1800


def run(target: str, executions: int, seed: int, _scratch: Path) -> str:
    """Run one part; return the fuzzer's last line of progress."""
    folder = ROOT / "soak" / "fuzz"
    code, said = run_sanitized(
        "tests.fuzz",
        target,
        f"--executions={executions}",
        f"--seed={seed}",
        f"--findings={folder / 'findings'}",
        f"--keep={folder / 'corpus'}",
    )
    assert code == 0, said[-4000:]
    return [line for line in said.splitlines() if line.startswith(f"{target}: ")][-1]


def parts(size: Size) -> list[Part]:
    """Return the parts. The small size is tests/fuzz/test_targets.py, which runs on an ordinary build."""
    if size is Size.SMALL:
        return []
    return [
        Part(f"{target}-{number:02}", SEED + number, partial(run, target, executions, SEED + number))
        for target, (count, executions) in PARTS.items()
        for number in range(count)
    ]
