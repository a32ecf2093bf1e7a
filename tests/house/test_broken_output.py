"""Output that cannot be written: the three commands say so on one line, and a reader that has gone is no error to speak of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = {
    "aerowire": [sys.executable, "-m", "aerowire.tools.main"],
    "codegen": [sys.executable, "-m", "aerowire.codegen.main"],
    "conformance": [sys.executable, "-m", "aerowire.conformance.main"],
}
ARGUMENTS = [("aerowire", "--help"), ("aerowire", "--version"), ("codegen", "--help"), ("conformance", "--help"), ("conformance", "list")]
LIMIT_S = 60


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.mark.parametrize(("command", "argument"), ARGUMENTS)
def test_a_full_disk_is_one_line_and_exit_code_2(command: str, argument: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMANDS[command], argument], stdout=full, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, env=environment(), check=False
        )
    assert done.returncode == 2
    assert done.stderr == f"{command}: No space left on device\n"


@pytest.mark.parametrize(("command", "argument"), ARGUMENTS)
def test_a_closed_pipe_leaves_no_traceback(command: str, argument: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(
            [*COMMANDS[command], argument], stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, env=environment(), check=False
        )
    assert (done.returncode in (0, 1), done.stderr) == (True, "")
