"""A terminal for a command to run at: what stands on its screen, what is typed, and which state it is left in."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

LIMIT_S = 30.0
# What belongs together comes without a longer pause.
SILENCE_S = 0.01
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_HOME, _ENTER, _LEAVE, _CURSOR = "\x1b[H", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"


class Terminal:
    """A pseudo-terminal, and one command on it. `screen` is what the command drew last, `left` what it wrote after its other screen."""

    def __init__(self, *command: str, rows: int = 24, columns: int = 80, stdin: int | None = None) -> None:
        self._parent, self._child = pty.openpty()
        self._written = ""
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._process: subprocess.Popen[bytes] | None = None
        self.resize(rows, columns)
        self.modes = self._modes()
        environment = {name: value for name, value in os.environ.items() if name not in {"LINES", "COLUMNS"}}
        self._process = subprocess.Popen(
            # It may be killed with SIGQUIT, of which no core is wanted.
            ["sh", "-c", 'ulimit -c 0 && exec "$@"', "sh", sys.executable, *command],
            stdin=self._child if stdin is None else stdin,
            stdout=self._child,
            stderr=self._child,
            env={**environment, "TERM": "xterm"},
            process_group=0,  # a job of its own, which may be suspended
        )

    def resize(self, rows: int, columns: int) -> None:
        """Give the screen another size."""
        fcntl.ioctl(self._child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._parent, keys.encode())

    @property
    def pid(self) -> int:
        """The command's process."""
        assert self._process is not None
        return self._process.pid

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the command."""
        assert self._process is not None
        self._process.send_signal(number)

    @property
    def has_keys(self) -> bool:
        """Whether the command reads keys one by one."""
        return not self._modes()[3] & termios.ICANON

    @property
    def is_as_before(self) -> bool:
        """Whether the terminal has the modes, the screen and the cursor that it had before the command."""
        _, entered, after = self._written.rpartition(_ENTER)
        is_left = not entered or (_LEAVE in after and _CURSOR in after)
        return is_left and self._modes() == self.modes

    @property
    def left(self) -> str:
        """What was written after the command's other screen."""
        _, left, after = self._written.rpartition(_LEAVE)
        assert left, self._written
        return after.strip()

    @property
    def screen(self) -> list[str]:
        """The lines that were drawn last."""
        frame = self._written.rpartition(_HOME)[2].partition("\x1b[?")[0]
        return [line.removeprefix("\x1b[K") for line in _STYLE.sub("", frame).replace("\x1b[J", "").split("\r\n") if line]

    def wait_for(self, condition: Callable[[list[str]], Any]) -> list[str]:
        """Read until the screen is so; return it."""
        deadline = time.monotonic() + LIMIT_S
        while not condition(self.screen):
            assert time.monotonic() < deadline, self.screen
            self._read(0.1)
        return self.screen

    def wait(self) -> int:
        """Read until the command has ended; return its exit code."""
        assert self._process is not None
        deadline = time.monotonic() + LIMIT_S
        while self._process.poll() is None:
            assert time.monotonic() < deadline, self.screen
            self._read(0.05)
        self._read(0.2)  # the last of it may be a moment behind the process
        return self._process.returncode

    def _read(self, seconds: float) -> None:
        while select.select([self._parent], [], [], seconds)[0]:
            self._written += self._decode(os.read(self._parent, 65536))
            seconds = SILENCE_S

    def _modes(self) -> list[Any]:
        return termios.tcgetattr(self._child)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._parent)
        os.close(self._child)
