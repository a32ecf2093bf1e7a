"""A hundred million executions of the coverage-guided fuzzer on the sanitizer build: no report, no crash, no spin, memory flat.

The corpus grows in soak/fuzz/corpus from part to part; inputs that fail are saved in soak/fuzz/findings.
"""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

from tests.soak.bars import Part, Size

ROOT = Path(__file__).resolve().parents[2]
PART = 1_000_000
# Millions of executions of each target; the slowest ones have the fewest.
MILLIONS = {
    "ring": 20,
    "broadcast": 18,
    "counters": 8,
    "error-log": 14,
    "loss-report": 14,
    "log-metadata": 8,
    "log-polls": 6,
    "receiver": 2,
    "sender": 2,
    "pcap": 4,
    "gossip": 4,
}
SEED = 1800


def run_fuzzer(*arguments: str, patch: Path | None = None, timeout_s: float = 48 * 3600.0) -> tuple[int, str]:
    """Run tests.fuzz on the sanitizer build, or on a copy of it with a patch; return its exit code and what it printed."""
    planted = [] if patch is None else ["--patch", str(patch)]
    done = subprocess.run(
        [".ci/asan.sh", *planted, "--run", "tests.fuzz", *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    return done.returncode, done.stdout


def run(target: str, seed: int, _scratch: Path) -> str:
    """Run one part; return the fuzzer's last line of progress."""
    folder = ROOT / "soak" / "fuzz"
    code, said = run_fuzzer(
        target, f"--executions={PART}", f"--seed={seed}", f"--findings={folder / 'findings'}", f"--keep={folder / 'corpus'}"
    )
    assert code == 0, said[-4000:]
    return [line for line in said.splitlines() if line.startswith(f"{target}: ")][-1]


def parts(size: Size) -> list[Part]:
    """Return the parts. The small size is tests/fuzz/test_targets.py, which runs on an ordinary build."""
    if size is Size.SMALL:
        return []
    return [
        Part(f"{target}-{number:02}", SEED + number, partial(run, target, SEED + number))
        for target, count in MILLIONS.items()
        for number in range(count)
    ]
