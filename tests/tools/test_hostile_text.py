"""Text that others have written, shown by the commands: no line is forged, no terminal steered, and no mark-up obeyed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.base.text import printable
from aerowire.client import Aeron
from aerowire.tools.driver.errors import Error, ErrorsReport
from aerowire.tools.driver.watching import as_text
from aerowire.tools.main import main
from aerowire.tools.terminal.figures import printable_lines, printable_text

Run = Callable[..., tuple[int, str, str]]
HOSTILE = "[red]x[/red]\n   99: 1,000 - forged\x1b[2J\x7f\t\r\x07"
SHOWN = r"[red]x[/red]\n   99: 1,000 - forged\x1b[2J"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain größe 値段", "plain größe 値段"),
        ("a\nb\r\x00\x1b\x7f\x85\x9b", r"a\nb\r\x00\x1b\x7f\x85\x9b"),
        ("a\tb", "a    b"),
        ("\u202eab\u2066\u200b\u2028", r"\u202eab\u2066\u200b\u2028"),
        ("\udc80\ufeff", r"\udc80\ufeff"),
    ],
)
def test_whatever_is_not_printable_is_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_lines_of_text_stay_lines_and_nothing_else_breaks_one() -> None:
    assert printable_lines("one\r\ntwo\x85\x0bthree\u2028") == ["one", r"two\x85\x0bthree\u2028"]
    assert printable_text("a\nb\x1b") == "a\nb\\x1b"


def test_a_label_forges_no_line_of_the_counters(run_command: Run, driver_dir: str) -> None:
    with Aeron.connect(driver_dir) as client, client.add_counter(1001, HOSTILE):
        code, out, _ = run_command("stat", "--dir", driver_dir, "--once", "--type", "1001")
        assert code == 0
        assert SHOWN in out
        assert not [line for line in out.splitlines() if "99: 1,000" in line and "[red]" not in line]
        assert not [one for one in out if not (one.isprintable() or one == "\n")]
        found = json.loads(run_command("stat", "--dir", driver_dir, "--json", "--type", "1001")[1])
        assert [one["label"] for one in found["counters"]] == [HOSTILE]


@pytest.mark.parametrize("is_brief", [False, True])
def test_errors_steer_no_terminal(is_brief: bool) -> None:
    error = Error(1, "then", "then", "first [bold]line\x1b[31m\nsecond\x9b\n")
    shown = as_text(ErrorsReport("dir", [error], {}, is_brief, None).render())
    assert "\x1b[31m" not in shown
    assert "\x9b" not in shown
    assert r"    first [bold]line\x1b[31m" in shown
    assert "\nsecond" not in shown


def test_an_error_on_standard_error_is_printable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "--dir", f"{tmp_path}/\x1b[31mred\u202e", "--once"]) == 2
    err = capsys.readouterr().err
    assert r"\x1b[31mred\u202e" in err
    assert "\x1b" not in err
