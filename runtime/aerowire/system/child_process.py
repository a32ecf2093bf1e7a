"""Processes that this one starts and ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Sequence

# Enough of what it printed to say why it died.
_STDERR_LENGTH_MAX = 4096


class ChildProcess:
    """A process in a session of its own, so that no terminal's signals reach it. What it prints to standard error is kept."""

    def __init__(self, command: Sequence[str], *, ends_with_parent: bool) -> None:
        """Start it. One that `ends_with_parent` has a pipe as its standard input, which the system closes however this process ends."""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if ends_with_parent else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        """What the process has printed to standard error, cut to its end."""
        if self._stderr.closed:
            return ""
        length = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, length - _STDERR_LENGTH_MAX))
        return self._stderr.read().decode(errors="replace").strip()

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        return self._process.poll()

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the process to end by itself; return its exit code, or None when the time is up."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def terminate(self) -> None:
        """Ask the process to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End the process without giving it a chance to clean up, as a crash would."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close its standard input and the file of its output. Call it after the process has ended; a second call does nothing."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._stderr.close()
