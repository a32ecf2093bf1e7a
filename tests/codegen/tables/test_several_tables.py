"""Several tables of a kind: how they are called, and what options of different files have to agree on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aerowire.codegen.load import load_project
from aerowire.codegen.main import main
from aerowire.codegen.problems import SchemaError
from aerowire.codegen.project import Project
from aerowire.codegen.registry import render_all
from aerowire.codegen.sources import find_sources

MINE = 'name="mine" property="aeron.mine" environment="AERON_MINE" kind="size" unit="bytes"'


def table(*rows: str, prefix: str = "aeron.") -> str:
    return f'<options xmlns="urn:aerowire:tables" prefix="{prefix}" description="Some.">\n{chr(10).join(rows)}\n</options>\n'


def option(attributes: str, scope: str = "archive") -> str:
    return f'<option {attributes} scope="{scope}">An option.</option>'


def load(folder: Path, files: dict[str, str]) -> Project:
    for name, text in files.items():
        (folder / name).write_text(text)
    return load_project(find_sources([str(folder / name) for name in files], folder))


def problems(folder: Path, files: dict[str, str]) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        load(folder, files)
    return [str(problem).removeprefix(f"{folder}/") for problem in caught.value.problems]


def test_a_table_is_called_as_its_file_or_as_its_kind(tmp_path: Path) -> None:
    errors = '<errors xmlns="urn:aerowire:tables" description="Some."><error code="1" name="ONE">One.</error></errors>'
    project = load(tmp_path, {"my_options.xml": table(option(MINE)), "whatever.xml": errors, "box_errors.xml": errors})
    assert [one.name for one in project.tables.options] == ["my_options"]
    assert [(one.name, one.enum_name) for one in project.tables.errors] == [("errors", "ErrorCode"), ("box_errors", "BoxErrorCode")]
    files = render_all(project, ["tables", "native"])
    assert "class BoxErrorCode(enum.IntEnum):" in files["aerowire/codecs/tables/box_errors.py"]
    assert "BOX_ERROR_CODE_ONE" in files["aerowire/codecs/native/box_errors.pxd"]
    assert {"aerowire/codecs/tables/option.py", "aerowire/codecs/tables/my_options.py"} < set(files)


def test_two_tables_of_one_name_are_a_problem(tmp_path: Path) -> None:
    other = table(option(MINE.replace("mine", "other").replace("MINE", "OTHER")))
    (problem,) = problems(tmp_path, {"one.xml": table(option(MINE)), "two.xml": other})
    assert problem == f"two.xml:1:1: error: a second table of options; the first is {tmp_path}/one.xml"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (
            option(MINE),
            option(MINE.replace("aeron.m", "aeron.archive.m").replace("AERON_M", "AERON_ARCHIVE_M")),
            "archive reads an option 'mine'",
        ),
        (option(MINE), option(MINE.replace('"mine"', '"other"')), "property 'aeron.mine' is taken by"),
        (
            option(MINE + ' default="1"'),
            option(MINE.replace('"mine"', '"other"').replace('"size" unit="bytes"', '"int"') + ' default="2"'),
            "property 'aeron.mine' is that of",
        ),
        (option(MINE), option(MINE.replace("mine", "other"), "driver"), "environment 'AERON_MINE' is taken by"),
        (
            option(MINE),
            option(f'{MINE.replace("mine", "other").replace("MINE", "OTHER")} default-of="aeron.nine"'),
            "names 'aeron.nine', which",
        ),
        (
            option(MINE),
            option('name="other" property="aeron.other" environment="AERON_OTHER" kind="int" default-of="aeron.mine"'),
            "names 'aeron.mine', which is no property of an option of kind 'int'",
        ),
    ],
    ids=["name", "same property", "property of two kinds", "environment", "unknown default-of", "default-of of another kind"],
)
def test_what_options_of_two_files_have_to_agree_on_is_checked(tmp_path: Path, one: str, other: str, expected: str) -> None:
    (problem,) = problems(tmp_path, {"one_options.xml": table(one), "two_options.xml": table(other)})
    assert problem.startswith("two_options.xml:2:")
    assert expected in problem


def test_the_same_property_may_have_a_default_for_each_reader(tmp_path: Path) -> None:
    rows = [
        option(MINE + ' default="1"', "archive cluster-backup"),
        option(MINE.replace('"mine"', '"other"') + ' default="2"', "client cluster-backup"),
    ]
    project = load(tmp_path, {"options.xml": table(*rows)})
    text = render_all(project, ["tables"])["aerowire/codecs/tables/options.py"]
    (tmp_path / "codecs").mkdir()
    probe = (
        "from options import *; print(OPTION_BY_PROPERTY['aeron.mine'].name, OPTION_BY_ENV['AERON_MINE'].name, OPTIONS['other'].default)"
    )
    (tmp_path / "codecs" / "options.py").write_text(text)
    done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path / "codecs", capture_output=True, text=True, check=True)
    assert done.stdout == "mine mine 2\n"


def test_an_option_that_another_file_follows_is_found_beside_it(spec_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(spec_copy / "archive_options.xml")]) == 0
    (spec_copy / "options.xml").unlink()
    capsys.readouterr()
    assert main(["validate", str(spec_copy / "archive_options.xml")]) == 1
    assert "default-of names 'aeron.mtu.length', which is no property of an option of kind 'size'" in capsys.readouterr().out


def test_prefix_is_that_of_the_file_or_aerons(tmp_path: Path) -> None:
    files = {"a_options.xml": table(option(MINE), prefix="aeron.archive."), "b.xml": table().replace(' prefix="aeron."', "")}
    files["b.xml"] = files["b.xml"].replace(">\n\n<", f">{option(MINE, 'driver')}<")
    project = load(tmp_path, files)
    assert [(one.name, one.prefix) for one in project.tables.options] == [("a_options", "aeron.archive."), ("options", "aeron.")]
