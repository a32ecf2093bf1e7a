"""The examples that each command's help prints run as they stand, where files of those names are."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aerowire.codegen.command_line import COMMANDS
from aerowire.codegen.main import main
from tests.codegen.layouts.test_own_schema import SCHEMA
from tests.codegen.sbe.example_messages import order_bytes
from tests.codegen.sbe.random_messages import SCHEMAS

SPEC = Path(__file__).resolve().parents[2] / "spec"
MESSAGES = ("my-schema", "exchange", "my-sbe", "a", "trades-v3", "trades-v4", "old", "new", "schemas/one")
EXAMPLES = [
    re.split("  +", line.strip())[0]
    for command in COMMANDS
    for line in command.EXAMPLES.splitlines()
    if line.startswith("  codegen ")
]  # fmt: skip
# Those look at the checkout or write into it, or compile for half a minute; other tests do what they do.
ELSEWHERE = (
    "codegen check",
    "codegen check --target flyweights",
    "codegen generate",
    "codegen generate --target native,flyweights",
    "codegen generate my-sbe.xml --out src --native",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("examples")
    (made / "schemas").mkdir()
    for name in MESSAGES:
        shutil.copy(SCHEMAS / "orders.xml", made / f"{name}.xml")
    shutil.copy(SCHEMAS / "shop.xml", made / "b.xml")
    (made / "my-layout.xml").write_text(SCHEMA)
    shutil.copytree(SPEC, made / "copy-of-spec")
    (made / "messages.bin").write_bytes(order_bytes())
    (made / "messages.txt").write_text(order_bytes().hex())
    (made / "bin").mkdir()
    command = made / "bin/codegen"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m aerowire.codegen.main "$@"\n')
    command.chmod(0o755)
    shell(made, "codegen decode my-schema.xml messages.bin > messages.json")
    return made


def shell(folder: Path, line: str) -> None:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(line, shell=True, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 15
    assert set(ELSEWHERE) <= set(EXAMPLES)


@pytest.mark.parametrize("line", [line for line in EXAMPLES if line not in ELSEWHERE])
def test_example_runs(folder: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if set(line) & set("<>*"):
        shell(folder, line)
    else:
        monkeypatch.chdir(folder)
        assert main(shlex.split(line)[1:]) == 0
    assert (folder / "messages.bin").read_bytes() == order_bytes()
