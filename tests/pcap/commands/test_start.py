"""What a command prepares before it loads what it needs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aerowire.pcap.commands import MATRIX_THREADS
from aerowire.tools.main import main

CAPTURE = Path(__file__).parent.parent.parent / "data" / "captures" / "unicast_simple.pcap"


@pytest.mark.parametrize(("told", "found"), [(None, "1"), ("3", "3")])
def test_numpy_has_no_threads_of_its_own_unless_it_was_told(monkeypatch: pytest.MonkeyPatch, told: str | None, found: str) -> None:
    monkeypatch.setenv(MATRIX_THREADS, told or "")
    if told is None:
        monkeypatch.delenv(MATRIX_THREADS)
    assert main(["pcap", "summary", str(CAPTURE)]) == 0
    assert os.environ[MATRIX_THREADS] == found
