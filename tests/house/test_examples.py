"""Every example runs as its docstring says, and prints what it claims to show."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.installations import Installation

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LAST_LINES = {
    "asyncio_chat.py": r"20 questions to 3 services, 60 answers",
    "forwarder.py": r"500 received, 500 forwarded",
    "request_reply.py": r"20 answers, the last one: QUESTION 19",
    "batches.py": r"20000 ticks, turnover [\d,]+",
    "capture_and_read.py": r"[1-9]\d* NAKs, [1-9]\d* frames lost on purpose",
}
# Those that need more than the wheel.
EXTRAS = {"capture_and_read.py": "pcap"}
COUNTS = {"asyncio_chat.py": "20", "request_reply.py": "20", "batches.py": "20000", "capture_and_read.py": "500", "forwarder.py": "500"}


def test_every_example_is_tested() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(LAST_LINES)


@pytest.mark.parametrize("name", sorted(LAST_LINES))
def test_example_runs_on_the_wheel(installed: Callable[[str], Installation], tmp_path: Path, name: str) -> None:
    environment = installed(EXTRAS.get(name, ""))
    done = environment.run(environment.python, str(EXAMPLES / name), COUNTS[name], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(LAST_LINES[name], done.stdout.splitlines()[-1])
