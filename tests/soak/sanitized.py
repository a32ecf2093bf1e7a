"""Runs a module on the sanitizer build."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_sanitized(module: str, *arguments: str, patch: Path | None = None, timeout_s: float = 48 * 3600.0) -> tuple[int, str]:
    """Run a module on the sanitizer build, or on a copy of it with a patch; return its exit code and what it printed."""
    planted = [] if patch is None else ["--patch", str(patch)]
    done = subprocess.run(
        [".ci/asan.sh", *planted, "--run", module, *arguments],
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
