"""The page on validation names every rule of message schemas, and none besides."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs" / "codegen-validate.md").read_text()
SOURCES = sorted((ROOT / "codegen/aerowire/codegen/sbe/reader").glob("*.py"))
REPORTED = re.compile(r'(?:error|warning|fault|_refuse|_lacks|_note|"error",) ?\(?\s*(?:\w+, )?"([a-z]+(?:-[a-z]+)+)"')
OF_FILES = {"unreadable", "not-well-formed", "name-too-long"}


def test_names_every_rule_and_no_other() -> None:
    rules = {rule for path in SOURCES for rule in REPORTED.findall(path.read_text())} | OF_FILES
    table = PAGE.partition("| rule |")[2]
    named = {rule for line in table.splitlines()[2:] for rule in re.findall(r"`([a-z-]+)`", line.split("|")[1])}
    assert len(rules) > 50
    assert named == rules
