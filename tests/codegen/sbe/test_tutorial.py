"""docs/codegen.md says what is so: its Python examples run against the package that its commands make."""

from __future__ import annotations

import doctest
import subprocess
import sys
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
    assert result.attempted > 15


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
