"""Every example runs as its docstring says, and prints what it claims to show."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from tests.support.installations import Installation, top_level_files

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LAST_LINES = {
    "asyncio_chat.py": r"20 questions to 3 services, 60 answers",
    "forwarder.py": r"500 received, 500 forwarded",
    "lost_reply.py": r"asking again: 60 of 60 seeds have all answers",
    "request_reply.py": r"20 answers, the last one: QUESTION 19",
    "batches.py": r"20000 ticks, turnover [\d,]+",
    "cluster_counter.py": r"20 words, the last answer: be 7",
    "capture_and_read.py": r"[1-9]\d* NAKs, [1-9]\d* frames lost on purpose",
}
# Those that need more than the wheel.
EXTRAS = {"capture_and_read.py": "pcap"}
COUNTS = {
    "asyncio_chat.py": "20",
    "request_reply.py": "20",
    "batches.py": "20000",
    "cluster_counter.py": "20",
    "capture_and_read.py": "500",
    "forwarder.py": "500",
    "lost_reply.py": "60",
}


def test_every_example_is_tested() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(LAST_LINES)


@pytest.mark.parametrize("name", sorted(LAST_LINES))
def test_example_runs_on_the_wheel(installed: Callable[[str], Installation], tmp_path: Path, name: str) -> None:
    environment = installed(EXTRAS.get(name, ""))
    done = environment.run(environment.python, str(EXAMPLES / name), COUNTS[name], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(LAST_LINES[name], done.stdout.splitlines()[-1])


def test_the_fixture_of_simulated_worlds_is_there_with_pytest(installed: Callable[[str], Installation], tmp_path: Path) -> None:
    environment = installed("")
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for path in top_level_files(metadata.distribution(name)):
            (tmp_path / path.name).symlink_to(path)
    command = [environment.python, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(EXAMPLES / "lost_reply.py")]
    done = environment.run("env", f"PYTHONPATH={tmp_path}", *command, "-k", "all_questions", "--simulation-seeds", "0-2", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed, 3 deselected" in done.stdout
