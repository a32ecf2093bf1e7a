"""Drivers of either side for the scripts that compare them, each in a process of its own."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interop.harness import Java, Side
from tests.support.processes import driver_command, is_ready

READY_LIMIT_S = 30.0
AGENTS = ("shared", "sharednetwork", "sender", "receiver", "conductor")
# Names that both sides know: classes of Agrona.
IDLE_STRATEGIES = {
    "backoff": "org.agrona.concurrent.BackoffIdleStrategy",
    "busy-spin": "org.agrona.concurrent.BusySpinIdleStrategy",
    "noop": "org.agrona.concurrent.NoOpIdleStrategy",
    "sleeping": "org.agrona.concurrent.SleepingIdleStrategy",
    "sleeping-ms": "org.agrona.concurrent.SleepingMillisIdleStrategy",
    "yielding": "org.agrona.concurrent.YieldingIdleStrategy",
}


@contextmanager
def running_driver(side: Side, java: Java | None, *, threading: str, idle: str) -> Iterator[Path]:
    """Run a driver of one side and lend its directory; `idle` is a key of IDLE_STRATEGIES."""
    with tempfile.TemporaryDirectory(prefix="aeron-bench-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        directory = Path(folder) / "driver"
        properties = {
            "aeron.dir": str(directory),
            "aeron.threading.mode": threading,
            **{f"aeron.{agent}.idle.strategy": IDLE_STRATEGIES[idle] for agent in AGENTS},
        }
        if side == "aerowire":
            command = driver_command(directory, properties)
        else:
            assert java is not None, "the official driver needs Java"
            command = java.command("io.aeron.driver.MediaDriver", properties=properties)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            _wait_until_ready(directory, process)
            yield directory
        finally:
            process.terminate()
            process.wait(READY_LIMIT_S)


def _wait_until_ready(directory: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_LIMIT_S
    while not is_ready(directory, process.pid):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the driver did not start: exit code {process.poll()}")
        time.sleep(0.01)
