"""The interop scenarios under induced loss, twenty runs in a row, each with a seed of its own; those of archives are a bar of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.soak.bars import Part, Size

ROOT = Path(__file__).resolve().parents[2]
RUNS = 20
LIMIT_S = 3600.0
ARCHIVE = "tests/interop/archive"
OTHERS = ("tests/interop", f"--ignore={ARCHIVE}")


def run(paths: tuple[str, ...], seed: int, scratch: Path) -> str:
    """Run the lossy scenarios of some folders; return pytest's last line."""
    del scratch
    command = [sys.executable, "-m", "pytest", "-q", "-x", *paths, "-m", "interop and lossy"]
    environment = {**os.environ, "AEROWIRE_SEED": str(seed)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL
    )
    closing = done.stdout.strip().rpartition("\n")[2]
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert re.search(r"\d+ passed", closing), closing
    assert "skipped" not in closing, closing
    return closing


def parts(size: Size) -> list[Part]:
    """The scenarios without archives. Nothing at small size: `make interop` runs the scenarios once."""
    return _runs(OTHERS, size)


def archive_parts(size: Size) -> list[Part]:
    """The scenarios of archives. Nothing at small size: `make interop` runs the scenarios once."""
    return _runs((ARCHIVE,), size)


def _runs(paths: tuple[str, ...], size: Size) -> list[Part]:
    return [Part(f"run-{seed}", seed, partial(run, paths, seed)) for seed in range(1, RUNS + 1)] if size is Size.FULL else []
