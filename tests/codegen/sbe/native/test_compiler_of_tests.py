"""The compiler that tests use makes again what it has not made of the same text in the same way, and never keeps a failure."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support import compiler

# Notes each of its calls, copies the C file, and fails where that says so.
FAKE = '#!/bin/sh\necho "$*" >> {calls}\ncp "$2" "$4" && ! grep -q wrong "$2"\n'


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the fake compiler's calls; what it makes is kept in a folder of the test's own."""
    monkeypatch.setenv(compiler.FOLDER_VARIABLE, str(tmp_path / "kept"))
    file, fake = tmp_path / "calls", tmp_path / "fake"
    file.touch()
    fake.write_text(FAKE.format(calls=file))
    fake.chmod(0o700)
    return file


def compiled(calls: Path, text: str, *options: str) -> tuple[int, str]:
    """Compile a text; return the status, and what was made."""
    source, target = calls.with_name("text.c"), calls.with_name("made.so")
    source.write_text(text)
    target.unlink(missing_ok=True)
    words = [*shlex.split(compiler.command(str(calls.with_name("fake")))), options[0], str(source), "-o", str(target), *options[1:]]
    return subprocess.run(words, check=False).returncode, target.read_text()


def count(calls: Path) -> int:
    return len(calls.read_text().splitlines())


def test_the_same_is_made_once(calls: Path) -> None:
    assert [compiled(calls, "int a;", "-O0") for _ in range(3)] == [(0, "int a;")] * 3
    assert count(calls) == 1


def test_another_text_or_another_option_is_another_call(calls: Path) -> None:
    assert compiled(calls, "int a;", "-O0") == (0, "int a;")
    assert compiled(calls, "int b;", "-O0") == (0, "int b;")
    assert compiled(calls, "int a;", "-O1") == (0, "int a;")
    assert count(calls) == 3


def test_another_compiler_is_another_call(calls: Path) -> None:
    assert compiled(calls, "int a;", "-O0") == (0, "int a;")
    fake = calls.with_name("fake")
    fake.write_text(fake.read_text() + "# newer\n")
    assert compiled(calls, "int a;", "-O0") == (0, "int a;")
    assert count(calls) == 2


def test_a_failure_is_not_kept(calls: Path) -> None:
    assert [compiled(calls, "wrong", "-O0")[0] for _ in range(2)] == [1, 1]
    assert count(calls) == 2


def test_what_reads_other_folders_is_made_each_time(calls: Path) -> None:
    assert [compiled(calls, "int a;", "-O0", f"-I{calls.parent}") for _ in range(2)] == [(0, "int a;")] * 2
    assert count(calls) == 2
