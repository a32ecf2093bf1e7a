"""What the README shows runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.installations import Installation

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
# Those that end by themselves and need nothing but the files of the checkout.
LINES = re.findall(
    r"^    ((?:aerowire pcap (?!replay)|codegen \w+ \S*examples/|conformance (?:list|explain|check)).*?)(?: {2,}#.*)?$",
    README,
    re.MULTILINE,
)
COMMANDS = re.findall(r"^    (aerowire|codegen|conformance) (\w+)", README, re.MULTILINE)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=[snippet.split("\n", 1)[0] for snippet in SNIPPETS])
def test_snippet_runs_on_the_wheel(installed: Callable[[str], Installation], snippet: str) -> None:
    environment = installed("pcap" if "aerowire.pcap" in snippet else "")
    done = environment.run(environment.python, "-c", snippet, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", LINES)
def test_line_runs_as_typed_on_the_wheel(installed: Callable[[str], Installation], tmp_path: Path, line: str) -> None:
    environment = installed("all")
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = environment.run("sh", "-c", line, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_lines_of_each_command_are_run() -> None:
    assert {line.split()[0] for line in LINES} == {"aerowire", "codegen", "conformance"}
    assert len(LINES) >= 10


@pytest.mark.parametrize(("command", "subcommand"), sorted(set(COMMANDS)))
def test_command_exists(command: str, subcommand: str) -> None:
    module = "aerowire.tools.main" if command == "aerowire" else f"aerowire.{command}.main"
    done = subprocess.run(
        [sys.executable, "-m", module, subcommand, "--help"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]
