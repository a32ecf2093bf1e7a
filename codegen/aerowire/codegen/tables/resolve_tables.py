"""From table documents to rows: names and numbers are unique, defaults are of their kind, formats use declared fields only."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator

from lxml import etree

from aerowire.codegen.document import Document, elements, integer
from aerowire.codegen.problems import Problem
from aerowire.codegen.tables.tables import (
    CounterTable,
    CounterTypeRow,
    ErrorRow,
    ErrorTable,
    LabelField,
    OptionRow,
    OptionTable,
    SystemCounterRow,
)

NS = "{urn:aerowire:tables}"
PREFIX = "aeron."
INTEGER_KINDS = {"size", "duration_ns", "int"}


class _Rows:
    """Rows of one document while they are read; the same name or number twice is a problem."""

    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self.document = document
        self.problems = problems
        self.taken: dict[tuple[str, object], etree._Element] = {}

    def report(self, element: etree._Element, message: str) -> None:
        self.problems.append(Problem(self.document.locate(element), message))

    def once(self, element: etree._Element, what: str, value: object) -> None:
        earlier = self.taken.get((what, value))
        if earlier is not None:
            self.report(element, f"{what} {value!r} is taken by line {self.document.locate(earlier).line}")
        self.taken.setdefault((what, value), element)

    def number(self, element: etree._Element, attribute: str) -> int:
        text = element.get(attribute, "")
        try:
            return integer(text)
        except ValueError:
            self.report(element, f"{attribute} must be an integer, found {text!r}")
            return 0


def _text(element: etree._Element) -> str:
    return " ".join((element.text or "").split())


def _rows(root: etree._Element, *path: str) -> Iterator[etree._Element]:
    parent: etree._Element | None = root
    for tag in path:
        parent = None if parent is None else parent.find(NS + tag)
    return iter(()) if parent is None else elements(parent)


def option_elements(document: Document) -> list[etree._Element]:
    """Return the elements of the options of a document, in its order."""
    return [element for element in elements(document.root) if element.tag != NS + "section"]


def resolve_options(document: Document, name: str, problems: list[Problem]) -> OptionTable:
    """Return the rows of an options document as the table `name`; problems are appended.

    What several tables have to agree on is not checked here: properties, environment variables and options of other tables.
    """
    rows = _Rows(document, problems)
    found: list[OptionRow] = []
    lines: list[etree._Element] = []
    section = ""
    for element in elements(document.root):
        if element.tag == NS + "section":
            section = _text(element)
            rows.once(element, "section", section)
            continue
        row = OptionRow(
            name=element.get("name", ""),
            property=element.get("property", ""),
            environment=element.get("environment", ""),
            kind=element.get("kind", ""),
            unit=element.get("unit", ""),
            default=_default(rows, element),
            default_of=element.get("default-of"),
            scopes=tuple(element.get("scope", "").split()),
            choices=tuple(element.get("choices", "").split()),
            description=_text(element),
            section=section,
        )
        rows.once(element, "name", row.name)
        if row.default is not None and row.default_of is not None:
            rows.report(element, f"option {row.name!r} has both default and default-of")
        found.append(row)
        lines.append(element)
    kinds = {row.name: row.kind for row in found}
    for element, row in zip(lines, found, strict=True):
        if row.default_of is not None and "." not in row.default_of and kinds.get(row.default_of) != row.kind:
            rows.report(element, f"default-of names {row.default_of!r}, which is no option of kind {row.kind!r}")
    return OptionTable(name, document.root.get("prefix", PREFIX), document.root.get("description", ""), tuple(found))


def _default(rows: _Rows, element: etree._Element) -> int | float | bool | str | None:
    """The default as a literal of the option's kind."""
    text, kind = element.get("default"), element.get("kind")
    choices = element.get("choices", "").split()
    if kind == "enum" and not choices:
        rows.report(element, f"option {element.get('name')!r} of kind 'enum' needs choices")
    if text is None:
        return None
    value: int | float | bool | str | None = text
    try:
        if kind in INTEGER_KINDS:
            value = integer(text)
        elif kind == "double":
            value = float(text)
        elif kind == "bool":
            value = {"true": True, "false": False}[text]
        elif kind == "enum" and choices and text not in choices:
            rows.report(element, f"default {text!r} is none of {', '.join(choices)}")
    except (ValueError, KeyError):
        rows.report(element, f"default {text!r} is no {kind}")
        value = None
    return value


def resolve_counters(document: Document, problems: list[Problem]) -> CounterTable:
    """Return the rows of a counters document; problems are appended."""
    rows = _Rows(document, problems)
    fields = []
    for element in _rows(document.root, "fields"):
        rows.once(element, "field", element.get("name"))
        fields.append(LabelField(element.get("name", ""), element.get("kind", "text"), _text(element)))
    known = {field.name for field in fields}
    system = []
    for element in _rows(document.root, "system"):
        row = SystemCounterRow(
            rows.number(element, "id"), element.get("name", ""), element.get("label", ""), element.get("suffix", ""), _text(element)
        )
        rows.once(element, "system counter id", row.id)
        rows.once(element, "system counter", row.name)
        _check_format(rows, element, row.label, set())
        _check_format(rows, element, row.suffix, known)
        system.append(row)
    types = []
    for element in _rows(document.root, "types"):
        kind = CounterTypeRow(
            rows.number(element, "id"),
            element.get("name", ""),
            element.get("label", ""),
            element.get("suffix", ""),
            element.get("key", ""),
            _text(element),
        )
        rows.once(element, "counter type id", kind.id)
        rows.once(element, "counter type", kind.name)
        _check_format(rows, element, kind.label + kind.suffix, known)
        types.append(kind)
    return CounterTable(document.root.get("description", ""), tuple(fields), tuple(system), tuple(types))


def _check_format(rows: _Rows, element: etree._Element, text: str, known: set[str]) -> None:
    try:
        uses = Counter(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)
    except ValueError as error:
        rows.report(element, f"format {text!r}: {error}")
        return
    for name, count in uses.items():
        if name not in known:
            rows.report(element, f"the format uses {name!r}, which is no field of this file")
        if count > 1:
            rows.report(element, f"the format uses {name!r} twice")


def label_pattern(label: str, suffix: str, fields: tuple[LabelField, ...]) -> str:
    """The regular expression that reads a label back; the suffix may be absent, as drivers append it later."""
    kinds = {field.name: field.kind for field in fields}

    def pattern(text: str, *, greedy_last: bool) -> str:
        parts = list(string.Formatter().parse(text))
        out = ""
        for index, (literal, name, _, _) in enumerate(parts):
            out += re.escape(literal).replace("\\ ", " ")
            if name is not None:
                is_last = index == len(parts) - 1
                body = "-?[0-9]+" if kinds[name] == "int" else ".*" if is_last and greedy_last else ".*?"
                out += f"(?P<{name}>{body})"
        return out

    if not suffix:
        return pattern(label, greedy_last=True)
    return f"{pattern(label, greedy_last=False)}(?:{pattern(suffix, greedy_last=True)})?"


def resolve_errors(document: Document, name: str, problems: list[Problem]) -> ErrorTable:
    """Return the rows of an error code document as the table `name`; problems are appended."""
    rows = _Rows(document, problems)
    found = []
    for element in elements(document.root):
        row = ErrorRow(rows.number(element, "code"), element.get("name", ""), _text(element))
        rows.once(element, "code", row.code)
        rows.once(element, "error", row.name)
        found.append(row)
    return ErrorTable(name, document.root.get("description", ""), tuple(found))
