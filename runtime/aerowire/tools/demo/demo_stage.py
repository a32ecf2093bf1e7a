"""The processes and the progress display of `aerowire demo`.

Whatever was started ends when the stage closes, Ctrl-C included. Knows nothing of what the processes are for.
"""

from __future__ import annotations

import json
import os
import selectors
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from aerowire.base.errors import AerowireError
from aerowire.process.interruption import deferred

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

# A step takes a minute at most on two cores with nothing else to do; on busy ones it may take several times as long, and is not stuck.
STEP_LIMIT_S = 300.0
END_LIMIT_S = 10.0


def open_log(path: Path) -> IO[bytes]:
    """Open a log for writing, emptied; never through a link, nor a file that is no regular one. Raises DemoError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DemoError("a log cannot be written", where=path, expected="a file", actual=error.strerror, hint="choose a --folder") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DemoError("a log cannot be written", where=path, expected="a file", actual="a device or pipe", hint="choose a --folder")
    os.ftruncate(descriptor, 0)
    return os.fdopen(descriptor, "wb")


class DemoError(AerowireError):
    """A step of the demo did not do what it should."""


class Stage:
    """The demo's processes and its progress display; whatever was started ends when the stage closes."""

    def __init__(self, console: Console, folder: Path, memory: Path | None = None) -> None:
        """`folder` gets the logs of the processes; driver directories go into a temporary folder made in `memory`."""
        self.console = console
        self.folder = folder
        self._memory_parent = memory
        self._stack = ExitStack()
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Stage:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description:34}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        self.memory = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="aerowire-demo-", dir=self._memory_parent)))
        self._stack.callback(self._end_processes)
        self.progress: Progress = self._stack.enter_context(Progress(*columns, console=self.console))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def start(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a command whose standard error goes to a log beside the capture."""
        with open_log(self.folder / f"{name}.log") as log, deferred():
            # A session of its own: Ctrl-C reaches the demo alone, which then ends its children in order.
            child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
            self._processes.append(child)
        return child

    def failed(self, name: str, child: subprocess.Popen[bytes]) -> DemoError:
        log = self.folder / f"{name}.log"
        last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["nothing"]
        return DemoError(f"{name} failed", where=log, expected="exit code 0", actual=child.poll(), hint=last[0])

    def stuck(self, *names: str) -> DemoError:
        expected = f"the end of {' and '.join(names)} within {STEP_LIMIT_S:g} s"
        return DemoError("the demo is stuck", where=self.folder, expected=expected, actual="still at work", hint="see the logs there")

    def objects(self, names: Mapping[str, subprocess.Popen[bytes]]) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """Yield each JSON object that the named children print, and None when one closes its output, until all have."""
        deadline = time.monotonic() + STEP_LIMIT_S
        pending = dict.fromkeys(names, b"")
        with selectors.DefaultSelector() as selector:
            for name, child in names.items():
                assert child.stdout is not None
                selector.register(child.stdout, selectors.EVENT_READ, name)
            while selector.get_map():
                for key, _ in selector.select(max(0.0, deadline - time.monotonic())):
                    name = key.data
                    data = os.read(key.fd, 65536)
                    *lines, pending[name] = (pending[name] + data).split(b"\n")
                    yield from ((name, json.loads(line)) for line in lines if line.startswith(b"{"))
                    if not data:
                        selector.unregister(key.fileobj)
                        yield name, None
                if time.monotonic() > deadline:
                    raise self.stuck(*names)

    def stop(self, child: subprocess.Popen[bytes]) -> None:
        """Ask a child to end and wait for it."""
        if child.stdin is not None:
            child.stdin.close()
        if child.poll() is None:
            child.terminate()
        try:
            child.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def answer(self, name: str, command: Sequence[str], *, codes: Sequence[int] = (0,)) -> dict[str, Any]:
        """Run a command to its end, a spinner turning, and return the JSON object that it prints."""
        task = self.progress.add_task(name, total=None, note="")
        child = self.start(name, command)
        assert child.stdin is not None
        child.stdin.close()
        found: dict[str, Any] | None = None
        text = b""
        is_over = False
        assert child.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            deadline = time.monotonic() + STEP_LIMIT_S
            while not is_over and selector.select(max(0.0, deadline - time.monotonic())):
                data = os.read(child.stdout.fileno(), 65536)
                is_over = not data
                text += data
        self.stop(child)
        if not is_over:
            raise self.stuck(name)
        if child.returncode in codes and text.strip():
            found = json.loads(text[text.index(b"{") :])
        if found is None:
            raise self.failed(name, child)
        self.progress.update(task, total=1, completed=1)
        return found

    def _end_processes(self) -> None:
        for child in reversed(self._processes):
            self.stop(child)
            if child.stdout is not None:
                child.stdout.close()
