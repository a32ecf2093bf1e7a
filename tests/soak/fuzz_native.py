"""A hundred million executions of the coverage-guided fuzzer on the sanitizer build: no report, no crash, no spin, memory flat.

The corpus grows in soak/fuzz/corpus from part to part; inputs that fail are saved in soak/fuzz/findings.
"""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

from tests.soak.bars import Part, Size

ROOT = Path(__file__).resolve().parents[2]
# Parts of each target, and executions of a part: about an hour of a quick target, a few hours of a slow one; together 100 million.
PARTS = {
    "ring": (20, 1_000_000),
    "broadcast": (15, 1_000_000),
    "counters": (7, 1_000_000),
    "error-log": (14, 1_000_000),
    "loss-report": (14, 1_000_000),
    "log-metadata": (6, 1_000_000),
    "log-polls": (4, 1_000_000),
    "cubic": (7, 1_000_000),
    "cnc": (6, 1_000_000),
    "sender": (2, 1_000_000),
    "receiver": (2, 500_000),
    "gossip": (1, 1_000_000),
    "sbe-json": (1, 1_000_000),
    "pcap": (2, 250_000),
    "channel": (1, 500_000),
    "sbe": (1, 450_000),
    "ports": (1, 200_000),
    "layout-schema": (1, 150_000),
    "sbe-schema": (1, 100_000),
    "commands": (1, 100_000),
}
SEED = 1800


def run_fuzzer(*arguments: str, patch: Path | None = None, timeout_s: float = 48 * 3600.0) -> tuple[int, str]:
    """Run tests.fuzz on the sanitizer build, or on a copy of it with a patch; return its exit code and what it printed."""
    planted = [] if patch is None else ["--patch", str(patch)]
    done = subprocess.run(
        [".ci/asan.sh", *planted, "--run", "tests.fuzz", *arguments],
        cwd=ROOT,
        env={**os.environ, "AEROWIRE_FUZZ_COMPILED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    return done.returncode, done.stdout


def run(target: str, executions: int, seed: int, _scratch: Path) -> str:
    """Run one part; return the fuzzer's last line of progress."""
    folder = ROOT / "soak" / "fuzz"
    code, said = run_fuzzer(
        target, f"--executions={executions}", f"--seed={seed}", f"--findings={folder / 'findings'}", f"--keep={folder / 'corpus'}"
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
