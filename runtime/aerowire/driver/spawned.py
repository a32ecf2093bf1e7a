"""A media driver in a process of its own: no interpreter lock is shared with it, and a crash of one is not the other's."""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from aerowire.base import errors
from aerowire.base.directory import CNC_FILE_NAME
from aerowire.base.errors import AerowireError, DriverError, DriverTimeoutError
from aerowire.codecs.flyweights import cnc as cnc_layout
from aerowire.driver.context import Context
from aerowire.process.interruption import deferred
from aerowire.system.child_process import ChildProcess
from aerowire.system.files import read_start

_POLL_S = 0.005
# A driver that was asked to end frees its files; after this long it is killed.
_CLOSE_TIMEOUT_S = 10.0
ERROR_MARK = "!"


class SpawnedDriver:
    """A driver process. Close it, or use it as a context manager."""

    def __init__(
        self,
        *,
        timeout_s: float = 30.0,
        ends_with_parent: bool = True,
        properties: Mapping[str, str] | None = None,
        **options: object,
    ) -> None:
        """Start the process and wait until its cnc file is ready. Raises what its start raised, or DriverTimeoutError."""
        # Checked here too, so that a mistake is told by the call that made it.
        self._context = Context(properties=properties, **options)  # type: ignore[arg-type]
        command = [sys.executable, "-m", "aerowire.tools.main", "driver", "--spawned"]
        command += [f"-D{name}={value}" for name, value in self._context.to_properties().items()]
        if self._context.capture is not None:
            command += ["--capture", self._context.capture]
            if self._context.capture_overwrite:
                command.append("--capture-overwrite")
        # The driver watches its standard input when it should end with us.
        with deferred():
            self._process = ChildProcess(command, ends_with_parent=ends_with_parent)
            atexit.register(self.close)
        try:
            self._wait_until_ready(time.monotonic() + timeout_s, timeout_s)
        except BaseException:
            self.close()
            raise

    @property
    def context(self) -> Context:
        return self._context

    @property
    def aeron_dir(self) -> str:
        """The directory by which clients find this driver."""
        return self._context.aeron_dir

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def stderr(self) -> str:
        """What the process has printed to standard error, cut to its end."""
        return self._process.stderr

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the process to end by itself and return its exit code."""
        code = self._process.wait(timeout_s)
        if code is None:
            raise DriverTimeoutError(
                "the driver process is still running", where=f"pid {self.pid}", expected=f"an end within {timeout_s} s", actual="running"
            )
        return code

    def kill(self) -> None:
        """End the process without giving it a chance to clean up, as a crash would."""
        self._process.kill()

    def close(self) -> None:
        """Ask the process to end in order and wait for it. Harmless when done twice."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.terminate()
            if self._process.wait(_CLOSE_TIMEOUT_S) is None:
                self.kill()
        self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SpawnedDriver({self.aeron_dir!r}, pid={self.pid}, {'running' if self.is_running else 'ended'})"

    def _wait_until_ready(self, deadline_s: float, timeout_s: float) -> None:
        path = Path(self.aeron_dir) / CNC_FILE_NAME
        while not _is_ready(path, self._process.pid):
            if (code := self._process.poll()) is not None:
                raise _start_error(self.stderr, code)
            if time.monotonic() > deadline_s:
                raise DriverTimeoutError(
                    "the driver process did not get ready",
                    where=path,
                    expected=f"a cnc file within {timeout_s} s",
                    actual=self.stderr or "nothing",
                )
            time.sleep(_POLL_S)


def _is_ready(path: Path, pid: int) -> bool:
    start = read_start(path, cnc_layout.CncHeaderDecoder.ENCODED_LENGTH)
    if len(start) < cnc_layout.CncHeaderDecoder.ENCODED_LENGTH:
        return False
    header = cnc_layout.CncHeaderDecoder(start)
    return header.version != cnc_layout.CNC_NOT_READY and header.pid == pid


def _start_error(stderr: str, returncode: int) -> AerowireError:
    for line in reversed(stderr.splitlines()):
        if line.startswith(ERROR_MARK):
            name, _, text = line[len(ERROR_MARK) :].partition(": ")
            kind = getattr(errors, name, None)
            if isinstance(kind, type) and issubclass(kind, AerowireError):
                return kind(text)
    return DriverError(
        "the driver process ended while it started",
        where=f"exit code {returncode}",
        expected="a running driver",
        actual=stderr or "no output",
    )
