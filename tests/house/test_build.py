"""The build of native modules: what counts as stale, what fails it, what a killed one leaves behind, what the terminal of a pip shows."""

from __future__ import annotations

import importlib.util
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import hatch_build

SOURCE = "def answer() -> int:\n    return {}\n"
TAKES_THE_LOCK = "cdef void risky() except * nogil:\n    pass\n\n\ncdef void caller() noexcept nogil:\n    risky()\n"

# A pip: it has a terminal, and keeps what its backend prints.
FRONTEND = """
import subprocess, sys
backend = "import hatch_build; progress = hatch_build.Progress(25, hatch_build.open_terminal_of_parent()); "
backend += "[progress.add(f'tree.module_{i}', '') for i in range(25)]"
subprocess.run([sys.executable, "-c", backend], check=True, capture_output=True, stdin=subprocess.DEVNULL)
"""
SHOWN = ["", "  compiling 25 native modules", "  [10/25] tree.module_9", "  [20/25] tree.module_19", "  [25/25] tree.module_24"]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of one module, `tree.small`, and hatch_build at work there."""
    monkeypatch.setattr(hatch_build, "ROOT", tmp_path)
    monkeypatch.setattr(hatch_build, "BUILD_DIR", tmp_path / "build")
    path = tmp_path / "runtime" / "tree" / "small.pyx"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE.format(1))
    return path


def answer(source: Path) -> int:
    spec = importlib.util.spec_from_file_location("tree.small", hatch_build.extension_path(source))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return int(module.answer())


def test_compiles_what_is_stale_and_survives_a_killed_build(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hatch_build.build([]) == ["tree.small"]
    assert hatch_build.build([]) == []

    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\nkill -9 "$PPID"\n')
    compiler.chmod(0o755)
    source.write_text(SOURCE.format(2))
    with monkeypatch.context() as patch:
        patch.setenv("CC", str(compiler))
        with pytest.raises(hatch_build.BuildError, match=r"tree\.small: the process that compiled it was killed"):
            hatch_build.build([])
    assert sorted(path.name for path in source.parent.iterdir()) == sorted(["small.pyx", hatch_build.extension_path(source).name])
    assert list(hatch_build.stale_modules([])) == ["tree.small"]
    source.write_text(SOURCE.format(1))
    assert hatch_build.build([]) == []  # the extension of the old source is whole and still known as such
    assert answer(source) == 1


def test_a_hint_of_a_hidden_lock_is_an_error(source: Path) -> None:
    source.write_text(TAKES_THE_LOCK)
    with pytest.raises(hatch_build.BuildError, match=r"small\.pyx: a nogil function would take the interpreter lock"):
        hatch_build.build([])
    assert not hatch_build.extension_path(source).exists()


def test_an_error_names_its_place(source: Path) -> None:
    source.write_text("def broken(:\n")
    with pytest.raises(hatch_build.BuildError, match=r"small\.pyx:1:11"):
        hatch_build.build([])


def test_a_changed_declaration_makes_stale_what_cimports_it_whatever_its_time(source: Path) -> None:
    declared = source.with_name("number.pxd")
    declared.write_text("cdef enum:\n    NUMBER = 1\n")
    source.with_name("__init__.pxd").touch()
    source.write_text("from tree.number cimport NUMBER\n\n\ndef answer() -> int:\n    return NUMBER\n")
    assert hatch_build.build([]) == ["tree.small"]
    assert answer(source) == 1
    times = (declared.stat().st_atime_ns, declared.stat().st_mtime_ns)
    declared.write_text("cdef enum:\n    NUMBER = 2\n")
    os.utime(declared, ns=times)
    assert hatch_build.build([]) == ["tree.small"]
    assert hatch_build.build([]) == []


@pytest.mark.parametrize(("options", "shown"), [([], SHOWN), (["--verbose"], []), (["-q"], [])])
def test_a_pip_that_hides_the_build_shows_a_line_now_and_then(options: list[str], shown: list[str]) -> None:
    terminal, its_end = pty.openpty()
    command = [sys.executable, "-c", FRONTEND, *options]
    subprocess.run(command, cwd=hatch_build.ROOT, check=True, stdin=subprocess.DEVNULL, stdout=its_end, stderr=its_end)
    os.write(its_end, b"end")
    os.close(its_end)
    text = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert [line.strip("\r") for line in text.removesuffix("end").split("\n")[:-1]] == shown


def test_without_a_terminal_nothing_is_shown_and_nothing_fails() -> None:
    done = subprocess.run([sys.executable, "-c", FRONTEND], cwd=hatch_build.ROOT, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    assert (done.stdout, done.stderr) == (b"", b"")
