"""Which files a schema may include: XML of its own folder, or of a folder that the user names, and no text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aerowire.codegen.main import main
from aerowire.codegen.sbe.reader import ReadOptions, read_message_schema, xinclude
from tests.codegen.sbe.writing import schema

NAMESPACE = 'xmlns:xi="http://www.w3.org/2001/XInclude"'
TYPES = '<types><type name="Secret" primitiveType="uint8"/></types>'
MESSAGE = '<sbe:message name="M" id="1"><field name="f" id="1" type="Secret"/></sbe:message>'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a schema's folder `own`, and `outside`, which has a file of types and one that is no XML."""
    (tmp_path / "own").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "types.xml").write_text(TYPES)
    (tmp_path / "outside" / "secret.txt").write_text("root:hash")
    return tmp_path


def problems(project: Path, include: str, message: str = MESSAGE, **options: object) -> list[str]:
    """The errors of a schema with an include, with the schema's folder called `own`."""
    path = project / "own" / "schema.xml"
    path.write_text(schema("", include + message, NAMESPACE))
    reading = read_message_schema(path, "schema.xml", ReadOptions(**options))  # type: ignore[arg-type]
    return [str(one).replace(str(project), "") for one in reading.problems if one.is_error]


def test_text_is_never_included(project: Path) -> None:
    constant = '<type name="Secret" primitiveType="char" presence="constant"><xi:include href="{}" parse="text"/></type>'
    for href in (str(project / "outside" / "secret.txt"), "note.txt", "../outside/secret.txt"):
        (project / "own" / "note.txt").write_text("A")
        (told,) = problems(project, f"<types>{constant.format(href)}</types>")
        assert told.startswith("schema.xml:16:")
        assert "with parse 'text'; only XML is included, as text of a file would become code (bad-include)" in told
    fallback = '<xi:include href="note.txt" parse="text"><xi:fallback/></xi:include>'
    (told,) = problems(project, f"<types>{fallback}</types>{TYPES}")
    assert "only XML is included" in told


@pytest.mark.parametrize(
    "href", ["../outside/types.xml", "/outside/types.xml", "file:///outside/types.xml", "%2e%2e/outside/types.xml", "link.xml"]
)
def test_a_file_outside_of_the_schema_s_folder_is_refused_unless_its_folder_is_named(project: Path, href: str) -> None:
    (project / "own" / "link.xml").symlink_to(project / "outside" / "types.xml")
    include = f'<xi:include href="{href.replace("/outside", str(project / "outside")) if not href.startswith(("..", "%")) else href}"/>'
    (told,) = problems(project, include)
    assert told.startswith("schema.xml:16:13: error: include of ")
    assert told.endswith("is outside of the schema's folder '/own'; --include-root DIR allows another folder (bad-include)")
    assert problems(project, include, include_roots=(project / "outside",)) == []
    assert problems(project, include, include_roots=(project,)) == []
    (told,) = problems(project, include.replace("/>", "><xi:fallback/></xi:include>"), "")
    assert "is outside of" in told


def test_a_file_below_the_folder_may_include_one_above_itself(project: Path) -> None:
    (project / "own" / "parts").mkdir()
    (project / "own" / "common.xml").write_text(TYPES)
    (project / "own" / "parts" / "all.xml").write_text(f'<types {NAMESPACE}><xi:include href="../common.xml"/></types>')
    assert problems(project, '<xi:include href="parts/all.xml"/>', "") == []
    (project / "own" / "parts" / "all.xml").write_text(f'<types {NAMESPACE}><xi:include href="../../outside/types.xml"/></types>')
    (told,) = problems(project, '<xi:include href="parts/all.xml"/>', "")
    assert "parts/all.xml:1:" in told
    assert "is outside of" in told


def test_a_schema_that_is_a_link_includes_what_is_beside_its_target(project: Path) -> None:
    (project / "outside" / "schema.xml").write_text(schema("", f'<xi:include href="types.xml"/>{MESSAGE}', NAMESPACE))
    (project / "own" / "schema.xml").symlink_to(project / "outside" / "schema.xml")
    (project / "own" / "types.xml").symlink_to(project / "outside" / "types.xml")
    assert read_message_schema(project / "own" / "schema.xml").problems == ()


def test_what_is_no_regular_file_is_refused_without_reading_it(project: Path) -> None:
    os.mkfifo(project / "own" / "pipe.xml")
    (told,) = problems(project, '<xi:include href="pipe.xml"/>')
    assert "', which is no regular file (bad-include)" in told  # a long path is cut in front of it


@pytest.mark.parametrize("doctype", ['<!DOCTYPE types SYSTEM "../outside/secret.txt">', '<!DOCTYPE types [<!ENTITY a "b">]>'])
def test_included_files_declare_no_entities(project: Path, doctype: str) -> None:
    (project / "own" / "types.xml").write_text(doctype + TYPES)
    told = problems(project, '<xi:include href="types.xml"/>')
    assert any("has a DOCTYPE that declares or names something" in one for one in told)


def test_all_files_together_have_a_greatest_length(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xinclude, "LENGTH_MAX", 3_000)
    (project / "own" / "big.xml").write_text(f"<types>{' ' * 1_000}</types>")
    told = problems(project, '<xi:include href="big.xml"/>' * 3, "")
    assert [one for one in told if "the schema's files have more than 3000 bytes in all (bad-include)" in one]


@pytest.mark.parametrize(("depth", "fits"), [(15, True), (17, False)])
def test_includes_have_a_greatest_depth(project: Path, depth: int, fits: bool) -> None:
    for number in range(depth):
        inner = f'<xi:include href="{number + 1}.xml"/>' if number + 1 < depth else '<type name="Secret" primitiveType="uint8"/>'
        (project / "own" / f"{number}.xml").write_text(f"<types {NAMESPACE}>{inner}</types>")
    told = problems(project, '<xi:include href="0.xml"/>', "")
    assert [one for one in told if "more than 16 files deep" in one] == told
    assert (told == []) is fits


def test_commands_take_folders_of_includes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / "own" / "schema.xml"
    path.write_text(schema("", f'<xi:include href="../outside/types.xml"/>{MESSAGE}', NAMESPACE))
    for command in (["validate", str(path)], ["generate", str(path), "--out", str(project / "out")], ["compare", str(path), str(path)]):
        assert main(command) in (1, 2)
        told = capsys.readouterr()
        assert "--include-root DIR allows another folder" in told.out + told.err
        assert main([*command, "--include-root", str(project / "outside")]) == 0
