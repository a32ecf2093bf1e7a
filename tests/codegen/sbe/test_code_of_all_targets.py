"""The Python of every target, of a schema that no formatter likes: formatted, without findings, and typed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from aerowire.codegen.main import main
from aerowire.codegen.sbe.flyweights.text import literal
from aerowire.codegen.sbe.native.package import native_files
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.targets.python_text import laid_out, mapping
from tests.codegen.sbe.nasty import nasty_schema
from tests.codegen.sbe.running import OURS, run
from tests.support.type_check import type_check


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package `nasty` with every target, and the stub of the compiled codecs."""
    made = tmp_path_factory.mktemp("nasty")
    file = made / "nasty.xml"
    file.write_text(nasty_schema(), encoding="utf-8")
    assert main(["generate", str(file), "--out", str(made), "--package", "nasty"]) == 0
    stub = native_files(load_message_schema(file), ".support")["native.pyi"]
    (made / "nasty/native.pyi").write_text(stub, encoding="utf-8")
    return made


def test_it_is_formatted(folder: Path) -> None:
    run(folder, "-m", "ruff", "format", "--check", "--diff", *OURS, "nasty")


# A reader of a whole message has a statement or more for each field, and a schema may be in any alphabet.
SCHEMA_S_OWN = "--extend-ignore=PLR0912,PLR0915,PLC2401,PLC2403,N802,N999"
# Descriptions stand on one line in comments of columns.  The stub says itself what it is not.
LONG = ("arrow.py", "dtypes.py")
EXCEPT = ("--exclude=native.pyi", f"--per-file-ignores={','.join(f'{name}:E501' for name in LONG)}")


@pytest.mark.parametrize("rules", [(*OURS, SCHEMA_S_OWN, *EXCEPT), ("--isolated", SCHEMA_S_OWN, "--exclude=native.pyi,_arrow.py")])
def test_it_has_no_findings(folder: Path, rules: tuple[str, ...]) -> None:
    run(folder, "-m", "ruff", "check", "--no-cache", "--ignore-noqa", *rules, "nasty")


def test_it_is_typed(folder: Path) -> None:
    done = type_check(folder, "-p", "nasty", written=["nasty"])
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_linters_do_not_read_has_no_long_lines_either(folder: Path) -> None:
    lines = (folder / "nasty/native.pxd").read_text(encoding="utf-8").split("\n")
    assert [line for line in lines if len(line) > 140] == []
    assert any(line.strip().startswith("# A price's") for line in lines)


def test_the_stub_of_compiled_codecs_has_only_the_findings_that_it_names(folder: Path) -> None:
    run(folder, "-m", "ruff", "check", "--no-cache", *OURS, SCHEMA_S_OWN, "nasty/native.pyi")


@pytest.mark.parametrize("text", [' it\'s "x"  ' * 40, "one\nor  other " * 30, "w" * 300, "größe \\" * 50, "a" * 120 + " b" * 9])
def test_a_long_text_in_pieces_is_the_same_text(text: str) -> None:
    found = laid_out("X = ", mapping([("1", literal(text)), ("2", "3")]), depth=1)
    assert ast.literal_eval(found.strip().removeprefix("X = ")) == {1: text, 2: 3}
    assert all(len(line) <= 140 for line in found.split("\n")) or " " not in text
