"""Bars of what is under way, on standard error."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import Progress, ProgressColumn


class Bars(Progress):
    """Bars of these columns, which leave nothing behind. Lines that are printed meanwhile go above them, whole.

    Printed lines stay on standard output unless that is a terminal too. The cursor is not hidden: Ctrl-Z, SIGHUP and SIGQUIT end or halt a
    command without its having a say.
    """

    def __init__(self, *columns: ProgressColumn) -> None:
        console = Console(stderr=True, soft_wrap=True)
        super().__init__(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty())

    def start(self) -> None:
        super().start()
        self.console.show_cursor(True)
