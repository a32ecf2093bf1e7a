"""The Markdown reference: drawings that say what the tables say, links that lead somewhere, and anybody's words left as words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aerowire.codegen.main import main
from aerowire.codegen.project import Project
from aerowire.codegen.reference import MarkdownTarget
from aerowire.codegen.rendering.drawing import Cell, draw
from aerowire.codegen.sbe.ir import Block, MessageSchema, walk_blocks
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import ReadOptions, load_message_schema
from aerowire.codegen.sbe.targets.markdown import MarkdownMessages

ROOT = Path(__file__).resolve().parents[2]
SHOWN = ROOT / "tests/codegen/sbe/schemas/shown.xml"

DRAWN = """\
 0               1               2               3
+---------------+---------------+---------------+---------------+
|       a       |             wide              |   (unused)    |     0
+---------------+---------------+---------------+---------------+
|                             long                              |     4
+                                               +---------------+
|                                               |a_name_much_to~|     8
+---------------+---------------+---------------+---------------+
|                             text                              |    12
:                              ...                              :
+                                                               +
|                                                               |    24
+                               +---------------+---------------+
|                               |                                    28
+---------------------------------------------------------------+
|                        rest: 12 bytes                         |
+---------------------------------------------------------------+"""


def test_drawing_has_a_cell_for_each_member() -> None:
    cells = [
        Cell("text", 12, 18),
        Cell("a", 0, 1),
        Cell("wide", 1, 2),
        Cell("long", 4, 7),
        Cell("a_name_much_too_long", 11, 1),
        Cell("none", 4, 0),
    ]
    shown = draw(cells, 30, ["rest: 12 bytes"])
    assert shown == DRAWN


def test_drawing_of_nothing_is_what_is_behind() -> None:
    edge = "+" + "-" * 63 + "+"
    assert draw([], 0, ["data"]).split("\n") == [edge, f"|{'data':^63}|", edge]


def pages(project: Project) -> dict[str, str]:
    shown = load_message_schema(SHOWN)
    found = MarkdownTarget().render(project) | MarkdownMessages().render(shown, Placement("demo"))
    for schema, placement in project.messages:
        found |= MarkdownMessages().render(schema, placement)
    return found


def test_links_lead_to_anchors_that_are_there_once(project: Project) -> None:
    found = pages(project)
    anchors = {name: re.findall(r'<a id="([^"]+)"></a>', text) for name, text in found.items()}
    for name, text in found.items():
        assert len(anchors[name]) == len(set(anchors[name])), name
        links = re.findall(r"(?<!\\)\]\(([^)#]*)#([^)]+)\)", text)
        assert links or name.endswith(("README.md", "_files.md", "errors.md"))
        for page, place in links:
            assert place in anchors[f"docs/protocol/{page}" if page else name], (name, place)
        for page in re.findall(r"\]\(([a-z_]+\.md)\)", text):
            assert f"docs/protocol/{page}" in found


def test_drawings_fit_in_eighty_columns_and_tables_are_whole(project: Project) -> None:
    for name, text in pages(project).items():
        blocks = text.split("```")
        assert all(len(line) <= 80 for block in blocks[1::2] for line in block.split("\n")), name
        for block in blocks[::2]:
            columns = 0
            for line in block.split("\n"):
                cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
                assert not (cells and columns and cells != columns), (name, line)
                columns = cells


def test_every_schema_of_the_project_has_a_page_that_the_overview_names(project: Project) -> None:
    found = pages(project)
    overview = found["docs/protocol/README.md"]
    for name in [schema.package for schema in project.schemas] + [placement.package for _, placement in project.messages]:
        assert f"docs/protocol/{name}.md" in found
        assert f"({name}.md)" in overview
    for schema in project.schemas:
        text = found[f"docs/protocol/{schema.package}.md"]
        for struct in schema.structs:
            section = text.split(f'<a id="struct-{struct.name}"></a>')[1].split("<a id=")[0]
            for field in struct.fields:
                assert re.search(rf"^\| {field.offset} \| {field.size} \| `{field.name}` \|", section, re.MULTILINE), (
                    struct.name,
                    field.name,
                )


def sections(schema: MessageSchema) -> list[Block]:
    return [block for message in schema.messages for block in walk_blocks(message)]


def test_messages_are_told_in_full() -> None:
    schema = load_message_schema(SHOWN)
    (text,) = MarkdownMessages().render(schema, Placement("demo")).values()
    for block in sections(schema):
        for field in block.fields:
            place = "  |  |" if field.presence == "constant" else f" {field.offset} | {field.size} |"
            assert f"|{place} `{field.name}` | {field.id} |" in text
        for data in block.data:
            assert re.search(rf"^\| `{data.name}` \| {data.id} \|", text, re.MULTILINE)
    for line in (
        "| 8 | 8 | `price` | 2 | [`Price`](#type-Price) `int64` | optional | null -9223372036854775808 |  |  |",
        "| 16 | 4 | `quantity` | 3 | [`Quantity`](#type-Quantity) `uint32` | optional | null 1000000; 1 … 999999 |  |  |",
        "`double` | optional | null NaN |  | Nobody reads it. Deprecated since version 2. |",
        '| <a id="type-Price"></a>`Price` | `int64` | optional | null -9223372036854775808 | Null: at market. |',
        '| <a id="type-Venue"></a>`Venue` | `char[4]` US-ASCII | constant | `XDEM` |  |',
        "| [`function`](#group-Order.function) | 30 | [`groupSizeEncoding`](#type-groupSizeEncoding) | 2 | 2 |  |",
        "| 2 | any | `varData` | `uint8[]` UTF-8 | required |",
        "|  |  | `kind` | 16 | [`State`](#type-State) | constant | `State.end` |  |  |",
        "| 67 | 4 | `nil` | 17 | `int32` | required |  | 1 |  |",
        "| 9 | `0x200` | `hidden` | Not in the book. |",
        "| `B` | `BUY` |  |",
        "| 4 | 1 | `payer` | [`Side`](#type-Side) | required | Which way. |",
        "| `late` | 42 | [`textEncoding`](#type-textEncoding) | `uint16` | 65534 | UTF-8 | 2 |  |",
    ):
        assert line in text


def test_data_is_told_with_its_block_and_not_with_the_last_group() -> None:
    (text,) = MarkdownMessages().render(load_message_schema(SHOWN), Placement("demo")).values()
    order = text.split('<a id="message-Order"></a>')[1]
    places = [
        order.index(part) for part in ("Groups of `Order`,", "Data of `Order`,", "#### group Order.fills\n", "Data of `Order.fills`,")
    ]
    assert places == sorted(places)


def test_text_of_any_length_is_drawn_behind_its_length() -> None:
    (text,) = MarkdownMessages().render(load_message_schema(SHOWN), Placement("demo")).values()
    drawn = text.split("### composite textEncoding")[1].split("```")[1]
    assert drawn.index("length") < drawn.index("varData: bytes")


def test_semantic_types_and_times_are_told(tmp_path: Path) -> None:
    old = '<field name="id" id="1" type="uint64"'
    new = f'{old} semanticType="UTCTimestamp" timeUnit="microsecond" epoch="midnight"'
    text = SHOWN.read_text().replace(old, new).replace('name="Price" primitive', 'name="Price" semanticType="Price_" primitive')
    (tmp_path / "semantic.xml").write_text(text)
    (shown,) = MarkdownMessages().render(load_message_schema(tmp_path / "semantic.xml"), Placement("demo")).values()
    assert "| 0 | 8 | `id` | 1 | `uint64` | required |  | UTCTimestamp, microsecond, since midnight |  | Number of the order. |" in shown
    assert "| `int64` | optional | null -9223372036854775808 | Price\\_ | Null: at market. |" in shown


def test_type_that_is_newer_than_what_refers_to_it_has_its_section(tmp_path: Path) -> None:
    late = '<set name="Late" encodingType="uint8" sinceVersion="2"><choice name="one">0</choice></set>'
    text = SHOWN.read_text().replace("</types>", f'{late}<composite name="Outer"><ref name="late" type="Late"/></composite></types>')
    text = text.replace('type="Money"', 'type="Outer"')
    (tmp_path / "late.xml").write_text(text)
    shown = load_message_schema(tmp_path / "late.xml", options=ReadOptions(since_version=0))
    (page,) = MarkdownMessages().render(shown, Placement("demo")).values()
    assert "[`Late`](#type-Late)" in page
    assert page.count('<a id="type-Late"></a>') == 1


def test_words_of_a_schema_are_no_mark_up(tmp_path: Path) -> None:
    words = "a | b &lt;b&gt; *c* [d](e) `f`&#10;# g"
    text = SHOWN.read_text().replace('description="Somebody wants something."', f'description="{words}"')
    text = text.replace('description="Number of the order."', f'description="{words}"')
    (tmp_path / "words.xml").write_text(text)
    (shown,) = MarkdownMessages().render(load_message_schema(tmp_path / "words.xml"), Placement("demo")).values()
    assert shown.count("a \\| b \\<b\\> \\*c\\* \\[d\\]\\(e) \\`f\\` \\# g".replace("\\(", "(")) == 3
    assert "\n# g" not in shown


def test_user_s_page_lies_in_the_package_and_the_project_s_in_docs(tmp_path: Path) -> None:
    assert list(MarkdownMessages().render(load_message_schema(SHOWN), Placement("a.b"))) == ["a/b/b.md"]
    assert main(["generate", "--target", "markdown", "aerowire:transport", "--out", str(tmp_path)]) == 0
    assert [path.name for path in (tmp_path / "docs/protocol").iterdir()] == ["transport.md"]


def test_check_sees_a_stale_and_a_superfluous_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--target", "markdown", "--out", str(tmp_path)]) == 0
    folder = tmp_path / "docs/protocol"
    page = folder / "transport.md"
    page.write_text(page.read_text().replace("Bytes missing.", "Bytes."))
    capsys.readouterr()
    assert main(["check", "--target", "markdown", "--out", str(tmp_path)]) == 1
    assert "+| 24 | 4 | `length` | `int32` |  | Bytes missing. |" in capsys.readouterr().out
    (folder / "old.md").write_text("<!-- generated by codegen from spec/old.xml; do not edit -->\n")
    (folder / "own.md").write_text("# by hand\n")
    assert main(["generate", "--out", str(tmp_path)]) == 0
    assert not (folder / "old.md").exists()
    assert (folder / "own.md").exists()


def test_types_within_composites_have_places_of_their_own(tmp_path: Path) -> None:
    inner = """<composite name="{}"><enum name="mode" encodingType="uint8"><validValue name="{}">1</validValue></enum>
      <composite name="inner"><type name="x" primitiveType="uint8"/></composite></composite>"""
    types = inner.format("One", "ON") + inner.format("Two", "OFF")
    (tmp_path / "inner.xml").write_text(SHOWN.read_text().replace("</types>", f"{types}</types>"))
    (text,) = MarkdownMessages().render(load_message_schema(tmp_path / "inner.xml"), Placement("demo")).values()
    anchors = re.findall(r'<a id="([^"]+)"></a>', text)
    assert len(anchors) == len(set(anchors))
    for name in ("One.mode", "One.inner", "Two.mode", "Two.inner"):
        assert f"[`{name}`](#type-{name})" in text
        assert f"type-{name}" in anchors
