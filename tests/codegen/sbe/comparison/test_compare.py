"""`codegen compare`: every kind of change with the lines that tell it, and readers of both schemas who see whether that is so."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from aerowire.codegen.main import main
from aerowire.codegen.sbe.comparison import Side, compare_schemas
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.crossing import check_reader

HERE = Path(__file__).parent
OLD = (HERE.parent / "schemas" / "shop.xml").read_text()


@dataclass(frozen=True)
class Case:
    """Edits of OLD, the exit code and the lines of the output."""

    name: str
    code: int
    edits: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]

    @property
    def new(self) -> str:
        text = OLD
        for gone, come in self.edits:
            assert gone in text, f"{self.name}: {gone}"
            text = text.replace(gone, come, 1)
        return text


def read_cases() -> list[Case]:
    cases = []
    for part in re.split(r"^== ", (HERE / "compare_cases.txt").read_text(), flags=re.MULTILINE)[1:]:
        heading, *lines = part.splitlines()
        name, code = heading.rsplit(": ", 1)
        gone, come, told = ([line[2:] for line in lines if line.startswith(sign)] for sign in ("- ", "+ ", "> "))
        cases.append(Case(name, int(code), tuple(zip(gone, come, strict=True)), tuple(told)))
    return cases


CASES = read_cases()


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.xml").write_text(OLD)


def loaded(case: Case) -> tuple[MessageSchema, MessageSchema]:
    Path("new.xml").write_text(case.new)
    return load_message_schema(Path("old.xml")), load_message_schema(Path("new.xml"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tells_the_change_and_whom_it_breaks(capsys: pytest.CaptureFixture[str], case: Case) -> None:
    Path("new.xml").write_text(case.new)
    assert main(["compare", "old.xml", "new.xml"]) == case.code
    assert capsys.readouterr().out.splitlines() == list(case.lines)


def test_the_cases_have_every_kind_of_change() -> None:
    found = {change.kind for case in CASES for change in compare_schemas(*loaded(case)).changes}
    source = "".join(path.read_text() for path in sorted(Path(compare_schemas.__code__.co_filename).parent.glob("*.py")))
    kinds = set(re.findall(r'(?:add|note)\(\s*"([a-z-]+)"', source))
    numbered = re.findall(r'(?:add|note)\(\s*f"\{noun\}(-[a-z]+)"', source)
    assert len(numbered) > 3
    kinds |= {noun + what for noun in ("value", "choice") for what in numbered}
    assert len(kinds) > 30
    assert sorted(kinds - found) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_reader_that_is_not_broken_reads_what_was_written(case: Case) -> None:
    old, new = loaded(case)
    comparison = compare_schemas(old, new)
    for side in Side:
        if not comparison.breaking(side):
            check_reader(comparison, side)


def test_the_same_file_twice_has_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "old.xml", "old.xml"]) == 0
    assert capsys.readouterr().out == "no change\n"


def test_the_order_of_types_and_messages_does_not_matter(capsys: pytest.CaptureFixture[str]) -> None:
    spare = '    <type name="Spare" primitiveType="int32"/>\n'
    bill = OLD[OLD.index('  <sbe:message name="Bill"') : OLD.index("</sbe:messageSchema>")]
    moved = (
        OLD.replace(spare, "")
        .replace("  <types>\n", f"  <types>\n{spare}")
        .replace(bill, "")
        .replace("  </types>\n", f"  </types>\n{bill}")
    )
    Path("new.xml").write_text(moved)
    assert main(["compare", "old.xml", "new.xml"]) == 0
    assert capsys.readouterr().out == "no change\n"


def test_json_has_the_same_findings(capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in CASES if case.name == "several of them")
    Path("new.xml").write_text(case.new)
    assert main(["compare", "old.xml", "new.xml", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    changes = found.pop("changes")
    assert found == {
        "old": {"file": "old.xml", "package": "shop", "id": 5, "version": 3},
        "new": {"file": "new.xml", "package": "shop", "id": 5, "version": 4},
        "compatible": False,
        "breaks": {"old_readers": 1, "new_readers": 0},
    }
    assert [(one["kind"], one["grade"], one["breaks"]) for one in changes] == [
        ("version-raised", "note", []),
        ("value-renamed", "note", []),
        ("data-removed", "breaks", ["old_readers"]),
        ("field-added", "compatible", []),
    ]
    removed = changes[2]
    assert removed["where"] == "message Order (1)"
    assert removed["what"] == "data note was removed"
    assert removed["why"] == "old readers look for it behind the end of the message"
    assert removed["old"].startswith("old.xml:")
    assert removed["new"] is None


def test_what_cannot_be_read_is_told_of_both_files(capsys: pytest.CaptureFixture[str]) -> None:
    Path("new.xml").write_text(OLD.replace('primitiveType="int8"', 'primitiveType="int9"'))
    assert main(["compare", "none.xml", "new.xml"]) == 2
    told = capsys.readouterr().err
    assert "none.xml:1:1: error: " in told
    assert "new.xml:17:" in told
    assert "int9" in told


@pytest.mark.parametrize("name", ["transport", "options"])
def test_layouts_and_tables_are_refused(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["compare", f"aerowire:{name}", "aerowire:archive"]) == 2
    assert capsys.readouterr().err.endswith("error: is no SBE message schema; layouts and tables cannot be compared\n")


def test_schemas_of_the_project_have_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "aerowire:cluster", "aerowire:cluster"]) == 0
    assert capsys.readouterr().out == "no change\n"
