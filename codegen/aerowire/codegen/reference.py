"""The reference of a project as Markdown: the pages of its layouts and tables, and a first page that lists all pages.

The first page shows what each page holds, and how the drawings are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aerowire.codegen.layouts.ir import Schema
from aerowire.codegen.layouts.targets.markdown import layout_pages
from aerowire.codegen.project import Project
from aerowire.codegen.rendering.base import DOCUMENTS
from aerowire.codegen.rendering.drawing import Cell, draw
from aerowire.codegen.rendering.markdown_text import drawing, page, prose, table
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.tables.tables import Tables
from aerowire.codegen.tables.targets.markdown_tables import table_pages

HOW_TO_READ = """\
A layout is drawn four bytes a row, with the offset of the row's first byte at its right. What has no fixed place stands below, in its
order. A name that its cell is too narrow for ends in `~`; bytes that nobody uses are `(unused)`; `:` leaves out rows. Here `kind` is
byte 4, and `note` begins at byte 8 with its own length:"""
FIELDS = """\
`written unasked` is what a generated encoder writes into a field by itself. `Access` tells how a field that processes share is read and
written, which is code's duty, not the layout's ([the language](../spec-language.md))."""
EXAMPLE = draw([Cell("amount", 0, 4), Cell("kind", 4, 1)], 8, ["note: uint16 length, then bytes"])


class MarkdownTarget:
    """Renders one page per layout schema and table, and for a whole project a page that lists all of them."""

    name = "markdown"

    def render(self, project: Project) -> dict[str, str]:
        keys = {struct.name: schema.package for schema in project.schemas for struct in schema.structs}
        return layout_pages(project) | table_pages(project, keys) | index_page(project)


def index_page(project: Project) -> dict[str, str]:
    """The page by its path; nothing for a part of a project."""
    tables = project.tables
    if not tables.options or tables.counters is None or not tables.errors:
        return {}
    return {f"{DOCUMENTS}/README.md": page("spec/", list(_index(project)))}


def _index(project: Project) -> Iterator[str]:
    yield from ["# The protocol", ""]
    yield from ["Every byte layout, message, option, counter and error code of the project, generated from [spec/](../../spec).", ""]
    if project.schemas:
        yield from ["## Layouts", ""]
        yield from ["Frames, shared memory and files, as structs ([their language](../spec-language.md)).", ""]
    rows = [[_name(one.package), _holds(one), prose(one.description)] for one in project.schemas]
    yield from table(["page", "holds", "what it describes"], rows)
    own = [(schema, placement.package) for schema, placement in project.messages if placement.is_project]
    if own:
        yield from ["## Messages", ""]
        yield from ["Messages of SBE 1.0: a header, a block of fields, then groups and data ([the compiler](../codegen.md)).", ""]
    messages = [[_name(name), str(one.id), str(one.version), _messages(one), prose(one.description)] for one, name in own]
    yield from table(["page", "schema id", "version", "holds", "what it describes"], messages)
    yield from ["## Tables", ""]
    yield from table(["page", "holds", "what it describes"], list(_tables(project.tables)))
    yield from ["## How to read a layout", "", HOW_TO_READ, "", *drawing(EXAMPLE), FIELDS, ""]


def _tables(tables: Tables) -> Iterator[list[str]]:
    for options in tables.options:
        yield [_name(options.name), _count(len(options.rows), "option"), prose(options.description)]
    if tables.counters is not None:
        holds = f"{_count(len(tables.counters.system), 'system counter')}, {_count(len(tables.counters.types), 'type')}"
        yield [_name("counters"), holds, prose(tables.counters.description)]
    for errors in tables.errors:
        yield [_name(errors.name), _count(len(errors.codes), "code"), prose(errors.description)]


def _name(package: str) -> str:
    return f"[{package}]({package}.md)"


def _holds(schema: Schema) -> str:
    parts: list[tuple[Sequence[object], str]] = [
        (schema.structs, "struct"),
        (schema.enums, "enum"),
        (schema.sets, "set"),
        (schema.regions, "mapping"),
    ]
    return ", ".join(_count(len(nodes), noun) for nodes, noun in parts if nodes) or _count(len(schema.constants), "constant")


def _messages(schema: MessageSchema) -> str:
    return _count(len(schema.messages), "message")


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
