"""Counters of archive and cluster as official nodes make them: their keys and labels are those of our tables."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.interop.harness import Java
from tests.support.official_counters import MADE, check_counter, official_counters
from tests.support.processes import LIMIT_S, free_port

pytestmark = pytest.mark.interop

PORTS = 7


def test_keys_and_labels_are_those_of_the_tables(java: Java, tmp_path: Path) -> None:
    command = java.command("NodeCounters", str(tmp_path), *(str(free_port()) for _ in range(PORTS)))
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    counters = official_counters(line for line in done.stdout.splitlines() if line.count("\t") > 1)
    for counter in counters:
        check_counter(counter)
    assert {counter.type_id for counter in counters} == MADE
