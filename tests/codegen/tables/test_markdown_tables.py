"""The reference's pages of tables: every row of spec/ is there with all that spec/ says of it, and the first page leads to them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.codegen.load import load_project
from aerowire.codegen.main import main
from aerowire.codegen.project import Project
from aerowire.codegen.reference import MarkdownTarget
from aerowire.codegen.rendering.markdown_text import literal, prose
from aerowire.codegen.sources import find_sources
from aerowire.codegen.tables.tables import CounterTypeRow, SystemCounterRow


@pytest.fixture(scope="module")
def pages(project: Project) -> dict[str, str]:
    return {path.removeprefix("docs/protocol/"): text for path, text in MarkdownTarget().render(project).items()}


@pytest.fixture
def rendered(spec_copy: Path) -> Callable[[str, str, str], str]:
    """Returns a function that replaces a text in a file of spec/ once, and renders that file's page."""

    def render(name: str, old: str, new: str) -> str:
        path = spec_copy / f"{name}.xml"
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
        return MarkdownTarget().render(load_project(find_sources([f"aerowire:{name}"], spec_copy)))[f"docs/protocol/{name}.md"]

    return render


def row_with(text: str, name: str) -> list[str]:
    (line,) = [line for line in text.split("\n") if re.match(rf"\| [^|]*(\| <a [^|]*)?`{re.escape(name)}`", line)]
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_every_row_of_the_tables_is_on_its_page(project: Project, pages: dict[str, str]) -> None:
    counters = project.tables.counters
    assert counters is not None
    for options in project.tables.options:
        page = pages[f"{options.name}.md"]
        for option in options.rows:
            names = f'<a id="option-{option.name}"></a>`{option.name}`<br>`{option.property}`<br>`{option.environment}`'
            (line,) = [line for line in page.split("\n") if line.startswith(f"| {names} |")]
            assert line.endswith(f"| {prose(option.description)} |")
        assert len(re.findall(r"^\| <a", page, re.MULTILINE)) == len(options.rows) > 40
    assert [table.name for table in project.tables.options] == ["archive_options", "cluster_options", "options"]
    rows: list[tuple[str, SystemCounterRow | CounterTypeRow]] = [("system", row) for row in counters.system]
    for kind, counter in (*rows, *(("counter", row) for row in counters.types)):
        found = f'| {counter.id} | <a id="{kind}-{counter.name}"></a>`{counter.name}` | {literal(counter.label)} |'
        assert found in pages["counters.md"]
    for errors in project.tables.errors:
        for error in errors.codes:
            row = f'| {error.code} | <a id="error-{error.name}"></a>`{error.name}` | {prose(error.description)} |'
            assert row in pages[f"{errors.name}.md"]
    assert [table.name for table in project.tables.errors] == ["archive_errors", "errors"]


@pytest.mark.parametrize(
    ("name", "kind", "default", "scopes"),
    [
        ("mtu_length", "size", "`1408`", "driver"),
        ("term_buffer_length", "size", "`16m`", "driver"),
        ("nak_unicast_delay_ns", "duration, bare in ns", "`1us`", "driver"),
        ("driver_timeout_ns", "duration, bare in ms", "`10s`", "driver, client"),
        ("threading_mode", "one of `DEDICATED`, `SHARED_NETWORK`, `SHARED`, `INVOKER`", "`DEDICATED`", "driver"),
        ("print_configuration", "bool", "`false`", "driver, archive, consensus-module, cluster-service"),
        ("receiver_group_tag", "int", "none", "driver"),
        ("socket_so_sndbuf", "size", "`0`", "driver"),
        ("client_name", "str", "empty", "client"),
        ("debug_send_data_reorder_rate", "double", "`0.0`", "aerowire"),
    ],
)
def test_options_tell_how_they_are_written_and_what_holds_unset(
    pages: dict[str, str], name: str, kind: str, default: str, scopes: str
) -> None:
    assert row_with(pages["options.md"], name)[1:4] == [kind, default, scopes]


def test_default_of_another_option_is_a_link_to_it(rendered: Callable[[str, str, str], str]) -> None:
    text = rendered("options", 'default="67108864"', 'default-of="term_buffer_length"')
    assert row_with(text, "ipc_term_buffer_length")[2] == "that of [`term_buffer_length`](#option-term_buffer_length)"


def test_default_of_an_option_of_another_page_is_a_link_to_that_page(pages: dict[str, str], spec_copy: Path) -> None:
    followed = "that of [`aeron.mtu.length`](options.md#option-mtu_length)"
    assert row_with(pages["archive_options.md"], "control_mtu_length")[2] == followed
    alone = MarkdownTarget().render(load_project(find_sources(["aerowire:archive_options"], spec_copy)))["docs/protocol/archive_options.md"]
    assert row_with(alone, "control_mtu_length")[2] == "that of `aeron.mtu.length`"


def test_counters_tell_their_labels_and_keys(pages: dict[str, str]) -> None:
    assert row_with(pages["counters.md"], "SUB_POS")[2:5] == [
        "`sub-pos: {registration_id} {session_id} {stream_id} {channel}`",
        "` @{join_position}`",
        "[`StreamCounterKey`](cnc.md#struct-StreamCounterKey)",
    ]
    assert row_with(pages["counters.md"], "CONDUCTOR_MAX_CYCLE_TIME")[3] == "`: {threading_mode}`"
    assert "| `join_position` | int | Where the subscriber joined. |" in pages["counters.md"]


def test_key_of_a_struct_that_is_not_rendered_is_no_link(rendered: Callable[[str, str, str], str]) -> None:
    text = rendered("counters", ">How far a publisher may write.<", ">How far it may.<")
    assert row_with(text, "PUB_LMT")[-2:] == ["`StreamCounterKey`", "How far it may."]


def test_descriptions_that_speak_of_a_table_lead_to_it(pages: dict[str, str], spec_copy: Path) -> None:
    assert "| `error_code` | `int32` |  | Why; see [the table of error codes](errors.md). |" in pages["transport.md"]
    assert "Counter type; see [the table of counters](counters.md)." in pages["cnc.md"]
    assert "[the table of counter types](counters.md#types) names each key." in pages["cnc.md"]
    alone = MarkdownTarget().render(load_project(find_sources(["aerowire:transport"], spec_copy)))["docs/protocol/transport.md"]
    assert "Why; see the table of error codes." in alone


def test_a_choice_of_layouts_names_each_once(pages: dict[str, str]) -> None:
    (key,) = re.findall(r"^\| 16 \| 112 \| `key` \|.*$", pages["cnc.md"], re.MULTILINE)
    assert key.count("[`StreamCounterKey`](#struct-StreamCounterKey) for `PUB_LMT`, `SND_POS`,") == 1
    assert key.count("StreamCounterKey)") == 1
    assert "4 bytes for `NAME_TO_IP4_MD`; 16 bytes for `NAME_TO_IP6_MD`" in pages["transport.md"]


def test_sections_of_the_options_are_headings_in_their_order(pages: dict[str, str]) -> None:
    headings = re.findall(r"^## (.*)$", pages["options.md"], re.MULTILINE)
    assert headings[:3] == ["The driver's directory and files", "Terms, windows and datagrams", "Streams"]
    assert headings == re.findall(r"^- \[(.*)\]\(#options-", pages["options.md"], re.MULTILINE)
    part = pages["options.md"].split("## Streams")[1].split("## Timeouts")[0]
    assert "`tether_subscriptions`" in part
    assert "`timer_interval_ns`" not in part


def test_options_without_sections_are_one_table(spec_copy: Path) -> None:
    path = spec_copy / "options.xml"
    path.write_text(re.sub(r"<section>.*?</section>", "", path.read_text()))
    text = MarkdownTarget().render(load_project(find_sources(["aerowire:options"], spec_copy)))["docs/protocol/options.md"]
    assert "## " not in text
    assert text.count("| keyword, property, environment |") == 1


def test_same_section_twice_is_a_problem(spec_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = spec_copy / "options.xml"
    path.write_text(path.read_text().replace("<section>Timeouts<", "<section>Streams<"))
    assert main(["generate", "--spec", str(spec_copy), "--out", str(spec_copy / "out")]) == 2
    assert "section 'Streams' is taken by line" in capsys.readouterr().err


def test_first_page_leads_to_every_other_and_tells_what_it_holds(project: Project, pages: dict[str, str]) -> None:
    first = pages["README.md"]
    own = {f"{placement.package}.md" for _, placement in project.messages}
    assert {name for name in (*pages, *own) if f"]({name})" not in first} == {"README.md"}
    assert "| [transport](transport.md) | 10 structs, 2 enums, 6 sets |" in first
    assert "| [errors](errors.md) | 16 codes |" in first
    assert "| [archive_errors](archive_errors.md) | 17 codes |" in first
    assert "| [archive_mark](archive_mark.md) | 100 | 2 | 1 message |" in first


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("_a_ b_c", "\\_a\\_ b_c"),
        ("- a", "\\- a"),
        ("-1 is none", "-1 is none"),
        ("---", "\\---"),
        ("1. a", "1\\. a"),
        ("5.2", "5.2"),
        ("~~a~~", "\\~\\~a\\~\\~"),
        ("a &lt; b & c", "a \\&lt; b & c"),
        ("", ""),
    ],
)
def test_prose_is_shown_as_it_is(text: str, shown: str) -> None:
    assert prose(text) == shown


@pytest.mark.parametrize(("text", "shown"), [("a|b ", "`a\\|b `"), (" a ", "`  a  `"), ("", "")])
def test_literals_keep_their_spaces(text: str, shown: str) -> None:
    assert literal(text) == shown
