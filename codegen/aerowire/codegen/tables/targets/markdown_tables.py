"""Tables as Markdown: a page for each table of options and error codes, and one for counters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from aerowire.codegen.rendering.base import DOCUMENTS
from aerowire.codegen.rendering.markdown_text import anchor, code, heading, link, literal, page, place, prose, table
from aerowire.codegen.tables.tables import CounterTable, CounterTypeRow, ErrorTable, OptionRow, OptionTable, SystemCounterRow, Tables
from aerowire.codegen.tables.targets.base import TableProject

SIZES = ((1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k"))
DURATIONS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns"))
KINDS = (
    ("size", "Bytes: a number, or one with `k`, `m` or `g` behind it (1,024 times, and so on)."),
    ("duration", "A number with `ns`, `us`, `ms` or `s` behind it; a bare number is in the unit that the type names."),
    ("bool", "`true` or `false`."),
    ("int", "A whole number."),
    ("double", "A number."),
    ("str", "Text."),
)
NAMES = """\
Each has three names: a keyword in Python, a property (`-D`, a properties file) and an environment variable. What is set first of these
holds: keyword, property, environment, default. Those read by `aerowire` alone are not Aeron's."""
LABELS = "A label is text in which a name in braces stands for a value. What is appended comes behind it once it is known."
KEYS = """\
The key of a counter's metadata is the struct named here; without one it holds what its writer puts there. Types without a label are
known by their number alone."""


def table_pages(project: TableProject, keys: Mapping[str, str]) -> dict[str, str]:
    """The pages of the tables that the project has, by path; `keys` gives the package of the layout that each struct belongs to."""
    tables = project.tables
    found: dict[str, str] = {}
    places = {row.property: (table.name, row.name) for table in tables.options for row in reversed(table.rows)}
    for options in tables.options:
        found[options.name] = page(f"spec/{options.name}.xml", list(_options(options, places)))
    if tables.counters is not None:
        found["counters"] = page("spec/counters.xml", list(_counters(tables.counters, keys)))
    for errors in tables.errors:
        found[errors.name] = page(f"spec/{errors.name}.xml", list(_errors(errors)))
    return {f"{DOCUMENTS}/{name}.md": text for name, text in found.items()}


def linked(text: str, tables: Tables) -> str:
    """A page in which descriptions that speak of a table lead to it, as far as the project has it."""
    there = {
        "the table of error codes": any(table.name == "errors" for table in tables.errors) and "errors.md",
        "the table of counter types": tables.counters and "counters.md#types",
        "the table of counters": tables.counters and "counters.md",
    }
    for words, target in there.items():
        text = re.sub(rf"\b{words}\b", f"[{words}]({target})", text) if target else text
    return text


def _options(options: OptionTable, places: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    yield from [f"# {options.name}", "", prose(options.description), ""]
    yield from [NAMES, ""]
    yield from table(["type", "how it is written"], KINDS)
    sections = list(dict.fromkeys(row.section for row in options.rows))
    if any(sections):
        yield from [f"- {link(one, anchor('options', one), is_code=False)}" for one in sections if one]
        yield ""
    for section in sections:
        if section:
            yield from heading(2, prose(section), anchor("options", section))
        rows = [_option(row, places) for row in options.rows if row.section == section]
        yield from table(["keyword, property, environment", "type", "default", "read by", "description"], rows)


def _option(row: OptionRow, places: Mapping[str, tuple[str, str]]) -> list[str]:
    names = "<br>".join(code(one) for one in (row.name, row.property, row.environment))
    kind = f"one of {', '.join(code(one) for one in row.choices)}" if row.choices else row.kind.removesuffix("_ns")
    kind += f", bare in {row.unit}" if row.kind == "duration_ns" else ""
    return [place(anchor("option", row.name)) + names, kind, _default(row, places), ", ".join(row.scopes), prose(row.description)]


def _default(row: OptionRow, places: Mapping[str, tuple[str, str]]) -> str:
    if row.default_of is not None and "." in row.default_of:
        table, name = places.get(row.default_of, ("", ""))
        followed = link(row.default_of, anchor("option", name), file=f"{table}.md") if table else code(row.default_of)
        return f"that of {followed}"
    if row.default_of is not None:
        return f"that of {link(row.default_of, anchor('option', row.default_of))}"
    if row.default is None:
        return "none"
    if row.default == "":
        return "empty"
    if isinstance(row.default, bool):
        return code(str(row.default).lower())
    units = {"size": SIZES, "duration_ns": DURATIONS}.get(row.kind, ())
    return code(_scaled(row.default, units) if isinstance(row.default, int) else str(row.default))


def _scaled(value: int, units: Sequence[tuple[int, str]]) -> str:
    """A number in the largest unit that leaves it whole."""
    factor, unit = next(((factor, unit) for factor, unit in units if value and value % factor == 0), (1, ""))
    return f"{value // factor}{unit}"


def _counters(counters: CounterTable, keys: Mapping[str, str]) -> Iterator[str]:
    yield from ["# counters", "", prose(counters.description), ""]
    parts = [
        ("System counters", "system", "those that every driver has, by counter id"),
        ("Counter types", "types", "the kinds of all counters, by type id"),
        ("Parts of labels", "fields", "what stands for a name in braces"),
    ]
    yield from [f"- {link(title, identifier, is_code=False)}: {about}" for title, identifier, about in parts]
    yield ""
    yield from [LABELS, ""]
    fields = {one.name for one in counters.fields}
    yield from heading(2, "System counters", "system")
    yield from table(["id", "name", "label", "appended", "description"], [_system(row) for row in counters.system])
    yield from heading(2, "Counter types", "types")
    yield from [KEYS, ""]
    yield from table(["type id", "name", "label", "appended", "key", "description"], [_type(row, keys) for row in counters.types])
    if fields:
        yield from heading(2, "Parts of labels", "fields")
    yield from table(["name", "is", "description"], [[code(one.name), one.kind, prose(one.description)] for one in counters.fields])


def _system(row: SystemCounterRow) -> list[str]:
    name = place(anchor("system", row.name)) + code(row.name)
    return [str(row.id), name, literal(row.label), literal(row.suffix), prose(row.description)]


def _type(row: CounterTypeRow, keys: Mapping[str, str]) -> list[str]:
    key = link(row.key, anchor("struct", row.key), file=f"{keys[row.key]}.md") if row.key in keys else code(row.key)
    name = place(anchor("counter", row.name)) + code(row.name)
    return [str(row.id), name, literal(row.label), literal(row.suffix), key, prose(row.description)]


def _errors(errors: ErrorTable) -> Iterator[str]:
    yield from [f"# {errors.name}", "", prose(errors.description), ""]
    rows = [[str(row.code), place(anchor("error", row.name)) + code(row.name), prose(row.description)] for row in errors.codes]
    yield from table(["code", "name", "description"], rows)
