"""The build of native modules: what counts as stale, what fails it, and what a killed one leaves behind."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import hatch_build

SOURCE = "def answer() -> int:\n    return {}\n"
TAKES_THE_LOCK = "cdef void risky() except * nogil:\n    pass\n\n\ncdef void caller() noexcept nogil:\n    risky()\n"


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
