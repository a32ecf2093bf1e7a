"""The tables among the documents of a run: how each is called, and what those of options have to agree on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from aerowire.codegen.document import Document, read_document
from aerowire.codegen.problems import Problem, SchemaError
from aerowire.codegen.sources import Source, shown
from aerowire.codegen.tables.resolve_tables import NS, option_elements, resolve_counters, resolve_errors, resolve_options
from aerowire.codegen.tables.tables import OptionRow, OptionTable, Tables

TABLE_ROOTS = ("options", "counters", "errors")
TABLE_NAMESPACE = NS


@dataclass(frozen=True)
class _Option:
    """An option where it stands."""

    document: Document
    element: etree._Element
    row: OptionRow

    @property
    def place(self) -> str:
        location = self.document.locate(self.element)
        return f"{location.file}:{location.line}"


def load_tables(documents: Sequence[tuple[Source, Document]], problems: list[Problem]) -> Tables:
    """Return the tables that the documents hold; problems are appended."""
    found: dict[str, tuple[Source, Document]] = {}
    for source, document in documents:
        kind = _kind(document)
        if kind is None:
            continue
        name = _name(kind, source)
        if name in found:
            problems.append(Problem(document.locate(document.root), f"a second table of {name}; the first is {found[name][1].name}"))
        found.setdefault(name, (source, document))
    options = {name: resolve_options(document, name, problems) for name, (_, document) in found.items() if _kind(document) == "options"}
    _check_options([found[name] for name in options], options, problems)
    return Tables(
        tuple(options.values()),
        resolve_counters(found["counters"][1], problems) if "counters" in found else None,
        tuple(resolve_errors(document, name, problems) for name, (_, document) in found.items() if _kind(document) == "errors"),
    )


def _kind(document: Document) -> str | None:
    tag = str(document.root.tag)
    kind = tag.removeprefix(TABLE_NAMESPACE)
    return kind if tag.startswith(TABLE_NAMESPACE) and kind in TABLE_ROOTS else None


def _name(kind: str, source: Source) -> str:
    """The file's name where it says what kind of table it is, such as `archive_options`; the kind where it does not."""
    stem = source.path.stem
    return stem if kind != "counters" and re.fullmatch(rf"[a-z][a-z0-9_]*_{kind}", stem) else kind


def _check_options(sources: Sequence[tuple[Source, Document]], tables: dict[str, OptionTable], problems: list[Problem]) -> None:
    """Names are unique for each reader, options that share a property are written alike, and followed options are there."""
    options = [
        _Option(document, element, row)
        for (_, document), table in zip(sources, tables.values(), strict=True)
        for element, row in zip(option_elements(document), table.rows, strict=True)
    ]
    names: dict[tuple[str, str], _Option] = {}
    properties: dict[str, _Option] = {}
    environment: dict[str, _Option] = {}

    def report(option: _Option, message: str) -> None:
        problems.append(Problem(option.document.locate(option.element), message))

    for option in options:
        row = option.row
        for scope in row.scopes:
            other = names.setdefault((scope, row.name), option)
            # The same name twice in one file has been reported there.
            if other.document is not option.document:
                report(option, f"{scope} reads an option {row.name!r} already, at {other.place}")
        other = properties.setdefault(row.property, option)
        if _form(other.row) != _form(row):
            report(
                option, f"property {row.property!r} is that of {other.place} too, which is of another kind, unit or environment variable"
            )
        elif other is not option and set(other.row.scopes) & set(row.scopes) and other.row.default == row.default:
            report(option, f"property {row.property!r} is taken by {other.place}, with the same default and a common reader")
        other = environment.setdefault(row.environment, option)
        if other.row.property != row.property:
            report(option, f"environment {row.environment!r} is taken by {other.place}")
    _check_followed(sources, options, properties, problems)


def _form(row: OptionRow) -> tuple[object, ...]:
    return row.kind, row.unit, row.environment, row.choices


def _check_followed(
    sources: Sequence[tuple[Source, Document]], options: Sequence[_Option], properties: dict[str, _Option], problems: list[Problem]
) -> None:
    """Options of other files that options follow are known by their properties."""
    kinds = {name: option.row.kind for name, option in properties.items()}
    followers = [option for option in options if option.row.default_of is not None and "." in option.row.default_of]
    if any(option.row.default_of not in kinds for option in followers):
        kinds = _kinds_beside({source.path for source, _ in sources}) | kinds
    for option in followers:
        row = option.row
        if kinds.get(row.default_of or "") != row.kind:
            message = f"default-of names {row.default_of!r}, which is no property of an option of kind {row.kind!r}"
            problems.append(Problem(option.document.locate(option.element), message))


def _kinds_beside(paths: set[Path]) -> dict[str, str]:
    """The kinds of options in the same folders, by property, for a table that follows one and was named alone."""
    found: dict[str, str] = {}
    for path in sorted({path for known in paths for path in known.parent.glob("*options.xml")} - paths):
        try:
            document = read_document(path, shown(path))
        except SchemaError:
            continue  # a table that is not part of this run
        if _kind(document) == "options":
            found |= {row.property: row.kind for row in resolve_options(document, "options", []).rows}
    return found
