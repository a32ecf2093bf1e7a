"""Malformed datagrams of every frame type: the driver lives, counts each one, answers none, and streams in progress stay intact."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.soak.bars import Part, Size

COUNT = {Size.FULL: 10_000, Size.SMALL: 1_000}
SEED = 14


def run(size: Size, scratch: Path) -> str:
    command = [sys.executable, "-m", "aerowire.conformance.main", "fuzz", "--driver", "aerowire", "--json"]
    command += ["--count", str(COUNT[size]), "--seed", str(SEED)]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False, timeout=600, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
    said = json.loads(done.stdout[done.stdout.index("{") :])
    return ", ".join(f"{name} {value}" for name, value in said.items() if isinstance(value, int))


def parts(size: Size) -> list[Part]:
    return [Part("every-type", SEED, partial(run, size))]
