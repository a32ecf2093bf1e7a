"""Progress is for people at a terminal, on standard error; results are complete without it."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

import pytest

from aerowire.conformance.model import Case, Result, Verdict
from aerowire.conformance.progress import CLEAR_LINE, LiveLine
from aerowire.conformance.report import Terminal


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_is_written_over_on_a_terminal_only() -> None:
    screen, file = Screen(), io.StringIO()
    for stream in (screen, file):
        line = LiveLine(stream)
        line.show("1 of 2")
        line.clear()
    assert screen.getvalue() == f"{CLEAR_LINE}1 of 2{CLEAR_LINE}"
    assert file.getvalue() == ""


@pytest.mark.parametrize("is_quiet", [False, True])
def test_the_case_under_way_is_shown_even_where_results_are_for_a_program(is_quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("A01", "a rule", "a source", "a stimulus", "an effect", run=lambda _bench: None)
    screen, output = Screen(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    terminal = Terminal(output, total=3, is_quiet=is_quiet)
    terminal.on_start(case)
    terminal.on_result(Result(case, Verdict.PASS))
    assert screen.getvalue() == f"{CLEAR_LINE}  {case.id}  running  (1 of 3){CLEAR_LINE}"
    assert (case.requirement in output.getvalue()) is not is_quiet


def test_a_command_shows_progress_at_a_terminal_and_none_elsewhere() -> None:
    command = [sys.executable, "-m", "aerowire.conformance.main", "run", "--case", "A01", "--json"]
    quiet = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert quiet.stderr == ""
    controller, terminal = pty.openpty()
    try:
        shown = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, timeout=60, check=True)
        said = os.read(controller, 4096).decode()
    finally:
        os.close(controller)
        os.close(terminal)
    assert "A01  running  (1 of 1)" in said
    assert shown.stdout.startswith(b"{")
