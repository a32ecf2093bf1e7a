"""What the official tool accepts and refuses, and how many errors and warnings it counts: ours are the same, or listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegen.sbe.reader import test_message_rules, test_rules
from tests.codegen.sbe.writing import schema
from tests.interop.sbe.official import OfficialTool
from tests.interop.sbe.verdicts import check_mutations, check_schema

pytestmark = pytest.mark.interop

MUTATIONS = 200
SEED = 71


def test_each_rule_counts_as_officially(official: OfficialTool, tmp_path: Path) -> None:
    differing = []
    for types, messages, attributes, _ in (*test_rules.CASES, *test_message_rules.CASES):
        file = tmp_path / "own.xml"
        file.write_text(schema(types, messages, attributes), encoding="utf-8")
        found = check_schema(official, file)[1]
        differing += [f"{types} {messages} {attributes}: {found}"] if found else []
    assert differing == []


def test_changed_schemas_count_as_officially(official: OfficialTool, tmp_path: Path) -> None:
    check_mutations(official, SEED, MUTATIONS, tmp_path)
