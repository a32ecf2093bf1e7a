"""Shows a report on a terminal's other screen, as much of it as there is room for, and lets keys move what is seen.

Knows lines and keys; nothing of what the lines say. What of a report stays on the screen, its head, is told by the style of its lines.
"""

from __future__ import annotations

import contextlib
import io
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

from aerowire.process.interruption import deferred
from aerowire.system.bus_error import forget_terminal, restore_terminal_on_bus_error
from aerowire.tools.terminal.keys import Key, KeyReader, is_foreground

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from rich.console import Console, ConsoleDimensions, RenderableType

    Line = list[Segment]

_HEAD_MARK = "aerowire-head"
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l\x1b[2J", "\x1b[?25h\x1b[?1049l"
# Each line is cleared BEFORE it is written: behind its last column the terminal would clear that one.
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
# What ends or halts a command without its having a say, if not asked.
_SIGNALS = (signal.SIGTSTP, signal.SIGQUIT, signal.SIGHUP)
_KEYS_TOLD = "PgDn/j, PgUp/k, g/G, q"
# How late a new size of the terminal is noticed.
_LOOK_S = 0.1

_MOVES: dict[Key, Callable[[int, int], int]] = {
    Key.DOWN: lambda top, _page: top + 1,
    Key.UP: lambda top, _page: top - 1,
    Key.PAGE_DOWN: lambda top, page: top + page,
    Key.PAGE_UP: lambda top, page: top - page,
    Key.FIRST: lambda _top, _page: 0,
    Key.LAST: lambda _top, _page: sys.maxsize,
}


def head_style(style: str) -> Style:
    """Return a style for the first lines of a report: those that have it stay when the others are moved."""
    return Style.parse(style) + Style(meta={_HEAD_MARK: True})


class LiveView:
    """The other screen of a terminal, while it is entered. The terminal is as it was afterwards, however the block is left.

    Changed by: show(), and by keys, a new size of the terminal and the shell's fg and bg in wait().
    Invariants: 0 <= _top <= lines that are not in view; nothing is drawn while the terminal is another job's.
    """

    def __init__(self, console: Console, fewer: str) -> None:
        """`fewer`: the command's arguments that leave something out, for whoever has no room for all; may be empty."""
        self._console = console
        self._fewer = fewer
        self._keys: KeyReader | None = None
        self._restoring = contextlib.ExitStack()
        self._renderable: RenderableType = ""
        self._size: ConsoleDimensions | None = None
        self._head: list[Line] = []
        self._body: list[Line] = []
        self._top = 0
        self._page = 1
        self._before: dict[int, Any] = {}
        self._signal = 0
        self._is_in_front = False

    def __enter__(self) -> Self:
        try:
            with deferred():
                self._follow_job()
                if threading.current_thread() is threading.main_thread():
                    self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS if not _is_ignored(number)}
        except BaseException:  # a signal that came meanwhile, too
            self._give_back()
            raise
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self._give_back()

    def _give_back(self) -> None:
        with deferred(), contextlib.suppress(OSError):  # a terminal that has gone needs nothing
            for number, before in self._before.items():
                signal.signal(number, before)
            self._restoring.close()

    def _follow_job(self) -> bool:
        """Take the terminal once it is this job's, as `fg` makes it; return whether it was taken."""
        was_in_front, self._is_in_front = self._is_in_front, is_foreground(sys.stdout.fileno())
        if was_in_front or not self._is_in_front:
            return False
        with deferred():
            self._let_go()  # of what was held when the job was halted without its having a say
            self._take_terminal()
        return True

    def _let_go(self) -> None:
        self._keys = None
        with contextlib.suppress(OSError):
            self._restoring.close()

    def _take_terminal(self) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(forget_terminal)
            restore_terminal_on_bus_error(_LEAVE.encode())
            self._keys = stack.enter_context(_keyboard())
            stack.callback(_write, _LEAVE)
            _write(_ENTER)
            self._restoring = stack.pop_all()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._signal = number  # between two frames, never within one

    def _obey(self, number: int) -> None:
        """Stand still as Ctrl-Z asks, or end as other signals do, with the terminal as it was before; go on when the job does."""
        with deferred():
            self._signal = 0
            self._let_go()
            self._is_in_front = False
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            signal.signal(number, self._on_signal)

    def show(self, renderable: RenderableType) -> None:
        """Show this in the place of what was shown before."""
        self._renderable = renderable
        self._size = None
        self._draw()

    def wait(self, seconds: float) -> bool:
        """Follow keys and the terminal's size for so long; return False when somebody wants to quit."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for key in self._pressed(min(left, _LOOK_S)):
                if key is Key.QUIT:
                    return False
                self._top = _MOVES[key](self._top, self._page)
                self._draw()
            if self._signal:
                self._obey(self._signal)
            if self._follow_job() or self._console.size != self._size:
                self._draw()
        return True

    def _pressed(self, seconds: float) -> list[Key]:
        if self._is_in_front and self._keys is not None and self._keys.is_open:
            return self._keys.read(seconds)
        time.sleep(seconds)
        return []

    def _draw(self) -> None:
        self._lay_out()
        if not self._is_in_front:
            return
        assert self._size is not None
        height = self._size.height
        head = self._head[: max(height - 2, 0)]
        room = max(height - len(head), 1)
        hidden = len(self._head) + len(self._body) > height
        self._page = max(room - hidden, 1)
        self._top = max(min(self._top, len(self._body) - self._page), 0)
        lines = [*head, *self._body[self._top : self._top + self._page]]
        if hidden and room > 1:
            lines.append(self._foot())
        text = "\n".join(_CLEAR_LINE + line for line in self._written(lines))
        _write(_HOME + text + ("\n" + _CLEAR_BELOW if len(lines) < height else ""))

    def _lay_out(self) -> None:
        """Make lines of what is shown, unless that was done for this size."""
        size = self._console.size
        if size == self._size:
            return
        options = self._console.options.update_dimensions(size.width, size.height).update(height=None)
        lines = self._console.render_lines(self._renderable, options, pad=False)
        count = next((index for index, line in enumerate(lines) if not _is_head(line)), len(lines))
        self._head, self._body, self._size = lines[:count], lines[count:], size

    def _foot(self) -> Line:
        above, below = self._top, max(len(self._body) - self._top - self._page, 0)
        counts = [f"{below} more"] if below or not above else []
        counts += [f"{above} {'' if counts else 'more '}above"] if above else []
        told = [f"… {', '.join(counts)}"]
        if self._keys is not None and self._keys.is_open:
            told.append(_KEYS_TOLD)
        if self._fewer:
            told.append(f"or {self._fewer}")
        text = Text("; ".join(told), style="bold", no_wrap=True, overflow="ellipsis", end="")
        return self._console.render_lines(text, self._console.options.update(height=None), pad=False)[0]

    def _written(self, lines: list[Line]) -> list[str]:
        parts = [part for line in lines for part in (*line, Segment.line())]
        with self._console.capture() as capture:
            self._console.print(Segments(parts), end="")
        return capture.get().splitlines()


def _is_ignored(number: int) -> bool:
    return signal.getsignal(number) == signal.SIG_IGN


def _is_head(line: Line) -> bool:
    return any(part.style is not None and _HEAD_MARK in part.style.meta for part in line)


def _write(text: str) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text)
    sys.stdout.flush()


@contextlib.contextmanager
def _keyboard() -> Iterator[KeyReader | None]:
    """Give the keys of standard input as they are pressed; None where it is no terminal, or another job's."""
    try:
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except (AttributeError, OSError, ValueError, termios.error):
        yield None
        return
    if not is_foreground(descriptor):
        yield None
        return
    try:
        tty.setcbreak(descriptor, termios.TCSANOW)
        yield KeyReader(descriptor)
    finally:
        # Another job must not set them; then the shell has.
        with contextlib.suppress(termios.error):
            if is_foreground(descriptor):
                termios.tcsetattr(descriptor, termios.TCSANOW, before)
