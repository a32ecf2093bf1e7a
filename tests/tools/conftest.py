"""A driver for the commands to meet at, and the commands as a user runs them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from aerowire.driver.media_driver import MediaDriver
from tests.support.snapshots import snapshots

__all__ = ["snapshots"]

TIMEOUT_S = 60


@pytest.fixture(autouse=True)
def no_driver_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no driver of whoever runs the tests be the one that a command uses, here or in a process that a test starts."""
    monkeypatch.delenv("AERON_DIR", raising=False)


@contextmanager
def embedded_driver() -> Iterator[str]:
    with MediaDriver.launch_embedded(
        threading_mode="SHARED", term_buffer_length=65536, ipc_term_buffer_length=65536, publication_linger_timeout_ns=200_000_000
    ) as driver:
        yield driver.aeron_dir


@pytest.fixture(scope="session")
def driver_dir() -> Iterator[str]:
    """The directory of a driver for all tests; clients of earlier ones that were killed have their streams for some seconds."""
    with embedded_driver() as directory:
        yield directory


@pytest.fixture
def empty_driver_dir() -> Iterator[str]:
    """The directory of a driver for one test."""
    with embedded_driver() as directory:
        yield directory


@pytest.fixture
def start(driver_dir: str) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start `aerowire COMMAND ... --dir`; what still runs at the end is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start_command(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "aerowire.tools.main", *arguments, "--dir", driver_dir]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        started.append(subprocess.Popen(command, **pipes))
        return started[-1]

    yield start_command
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def run_command(start: Callable[..., subprocess.Popen[bytes]]) -> Callable[..., tuple[int, str, str]]:
    """Run a command to its end; return exit code, output and errors."""

    def run(*arguments: str, data: bytes = b"") -> tuple[int, str, str]:
        process = start(*arguments)
        output, errors = process.communicate(data, timeout=TIMEOUT_S)
        return process.returncode, output.decode(), errors.decode()

    return run
