"""Every example runs as its docstring says, and prints what it claims to show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LAST_LINES = {
    "asyncio_chat.py": r"20 questions to 3 services, 60 answers",
    "forwarder.py": r"500 received, 500 forwarded",
    "request_reply.py": r"20 answers, the last one: QUESTION 19",
    "batches.py": r"20000 ticks, turnover [\d,]+",
    "capture_and_read.py": r"[1-9]\d* NAKs, [1-9]\d* frames lost on purpose",
}
COUNTS = {"asyncio_chat.py": "20", "request_reply.py": "20", "batches.py": "20000", "capture_and_read.py": "500", "forwarder.py": "500"}


def test_every_example_is_tested() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(LAST_LINES)


@pytest.mark.parametrize("name", sorted(LAST_LINES))
def test_example_runs(name: str) -> None:
    command = [sys.executable, str(EXAMPLES / name), COUNTS[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(LAST_LINES[name], done.stdout.splitlines()[-1])
