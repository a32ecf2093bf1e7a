"""A process that writes into the counters and logs of streams ends neither driver nor client, nor the streams that it leaves alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.grammar import neighbour
from tests.fuzz.grammar.polls import OracleError

ROOT = Path(__file__).resolve().parents[3]
EPISODES = 3


def test_driver_and_client_outlive_what_a_neighbour_writes(seed: int) -> None:
    # In a process of its own: what crashes there is a failure here.
    command = [sys.executable, "-m", "tests.fuzz.grammar.neighbour", "--seed", str(seed), "--episodes", str(EPISODES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"seed {seed}: ended with {done.returncode}\n{done.stdout}{done.stderr}"
    assert len(re.findall(rf"{neighbour.STEPS} writes", done.stdout)) == EPISODES


def test_a_cycle_that_takes_long_and_a_stream_that_is_touched_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbour, "STEPS", 20)
    monkeypatch.setattr(neighbour, "CYCLE_LIMIT_S", -1.0)
    with pytest.raises(OracleError, match="a cycle took"):
        neighbour.run_episode(1, 1)
    monkeypatch.setattr(neighbour, "PATIENCE_CYCLES", 1)
    with pytest.raises(OracleError, match="streams of others"):
        neighbour.run_episode(1, 1)
