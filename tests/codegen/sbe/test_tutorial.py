"""docs/codegen.md says what is so: its Python examples run against the package that its commands make."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from aerowire.codegen.main import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/codegen.md"
SCHEMA = ROOT / "examples/schemas/market.xml"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the package `market`, which is where the examples run."""
    monkeypatch.chdir(tmp_path)
    assert main(["generate", str(SCHEMA), "--out", str(tmp_path / "build/code")]) == 0
    monkeypatch.syspath_prepend(str(tmp_path / "build/code"))
    return tmp_path


@pytest.mark.usefixtures("package")
def test_python_examples_print_what_the_page_says() -> None:
    test = doctest.DocTestParser().get_doctest(PAGE.read_text(), {}, "codegen.md", str(PAGE), 0)
    try:
        found: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        result = runner.run(test, out=found.append)
    finally:
        for name in [name for name in sys.modules if name == "market" or name.startswith("market.")]:
            del sys.modules[name]
    assert result.failed == 0, "".join(found)
    assert result.attempted > 60


def shown(start: str) -> list[tuple[str, list[str]]]:
    """The commands of the page that start like this, each with what the page says that it prints."""
    found: list[tuple[str, list[str]]] = []
    is_open = False
    for line in PAGE.read_text().splitlines():
        if line.startswith("    $ "):
            is_open = line.startswith(f"    $ {start}")
            if is_open:
                found.append((line.removeprefix("    $ "), []))
        elif is_open and line.startswith("    "):
            found[-1][1].append(line.removeprefix("    "))
        else:
            is_open = False
    return found


def test_commands_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "market.xml").symlink_to(SCHEMA)
    (tmp_path / "orders.xml").write_text(SCHEMA.read_text().replace('package="market"', 'package="orders"'))
    commands = [one for one in shown("codegen generate ") + shown("codegen validate ") if "--native" not in one[0] and "…" not in one[0]]
    assert len(commands) >= 4
    for command, says in commands:
        assert main(command.split()[1:]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert printed[-len(says) :] == says, command


def test_misspelt_type_is_told_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "market.xml").write_text(
        SCHEMA.read_text().replace('type="uint32" description="Units traded."', 'type="uint46" description="Units traded."')
    )
    assert main(["validate", "market.xml"]) == 1
    printed = textwrap.indent(capsys.readouterr().out, "    ")
    assert printed.count("\n") > 3
    assert printed in PAGE.read_text()


def test_cython_example_adds_up(package: Path) -> None:
    page, code = PAGE.read_text(), package / "build/code"
    source = page[page.index("    # sums.pyx\n") : page.index("    $ cd build/code && cythonize")]
    (code / "sums.pyx").write_text(textwrap.dedent(source))
    make = "from market import *; import sys; sys.stdout.buffer.write(Trade(instrument='', time=1, price=Price(mantissa=2), quantity=10, "
    make += "side=Side.BUY, conditions=Conditions(0)).encode() * 3)"
    (package / "trades.sbe").write_bytes(subprocess.run([sys.executable, "-c", make], capture_output=True, check=True, cwd=code).stdout)
    compile_it = [sys.executable, "-m", "Cython.Build.Cythonize", "-i", "-q", "sums.pyx"]
    subprocess.run(compile_it, check=True, cwd=code, env={**os.environ, "CFLAGS": "-O0"}, capture_output=True)
    ((command, says),) = shown('python -c "import sums')
    assert command.endswith('"')
    run = command.removeprefix('python -c "').removesuffix('"')
    assert subprocess.run([sys.executable, "-c", run], capture_output=True, check=True, cwd=code, text=True).stdout.splitlines() == says


def test_checks_of_the_order_refuse_what_the_page_says(package: Path) -> None:
    ((command, lines),) = shown("AEROWIRE_SBE_PRECEDENCE_CHECKS=1")
    assert command.endswith(' python -c "')
    code = "\n".join(lines[: lines.index("…")]).removesuffix('"')
    environment = {**os.environ, "AEROWIRE_SBE_PRECEDENCE_CHECKS": "1"}
    command_line = [sys.executable, "-c", code]
    done = subprocess.run(command_line, capture_output=True, check=False, cwd=package / "build/code", text=True, env=environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == lines[-1]


def test_decode_then_encode_gives_the_same_bytes(package: Path) -> None:
    code = "from market import Price, Side, Conditions, Trade; import sys; sys.stdout.buffer.write(Trade(instrument='ACME', time=1, "
    code += "price=Price(mantissa=2), quantity=3, side=Side.BUY, conditions=Conditions.AUCTION).encode() * 2)"
    path = package / "trades.sbe"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=package / "build/code")
    path.write_bytes(made.stdout)
    command = [sys.executable, "-m", "aerowire.codegen.main"]
    decoded = subprocess.run([*command, "decode", str(SCHEMA), str(path)], capture_output=True, check=True)
    assert decoded.stdout.count(b"\n") == 2
    encoded = subprocess.run([*command, "encode", str(SCHEMA)], input=decoded.stdout, capture_output=True, check=True)
    assert encoded.stdout == made.stdout
