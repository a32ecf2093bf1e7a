"""Text of drivers and captures in the suite's output: one printable line each."""

from __future__ import annotations

import io

import pytest

from aerowire.conformance.catalogue import select
from aerowire.conformance.model import Result, Verdict
from aerowire.conformance.report import Terminal
from aerowire.conformance.text import printable, printable_error

HOSTILE = "x\nFORGED\r\x1b[2J\x9b\x85\u202e\u2028\udc80"
SHOWN = r"x\nFORGED\r\x1b[2J\x9b\x85\u202e\u2028\udc80"


def test_text_is_one_printable_line() -> None:
    assert printable(HOSTILE) == SHOWN
    assert printable("größe 値段") == "größe 値段"
    assert printable_error("first\r\nFORGED\x1b") == "first\n    FORGED\\x1b"


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.INCONCLUSIVE])
def test_a_failing_case_forges_no_line(verdict: Verdict) -> None:
    stream = io.StringIO()
    case = select("C01")[0]
    result = Result(case, verdict, expected=HOSTILE, actual=HOSTILE, notes=[f"note {HOSTILE}"])
    terminal = Terminal(stream, total=1)
    terminal.on_start(case)
    terminal.on_result(result)
    lines = stream.getvalue().split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    assert [line for line in lines if line.startswith("FORGED")] == []
    assert f"       actual    {SHOWN}" in lines
