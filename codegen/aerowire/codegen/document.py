"""An XML file as a tree whose every element knows its line and column.  Knows nothing of schemas' meaning.

lxml keeps lines only, so a second pass with expat notes where each start tag stands; both see the elements in the same order.
"""

from __future__ import annotations

import re
import xml.parsers.expat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from lxml import etree

from aerowire.codegen.problems import Location, Problem, SchemaError

_TAG = re.compile(rb"<(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")

FILE_LENGTH_MAX = 16 << 20  # a schema is written by people; anything longer is the wrong file


class Document:
    """A parsed file: `root`, `data` as it was read, and the location of each of its elements."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data
        positions, offsets = _start_tags(name, data)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True)
        try:
            self.root = etree.fromstring(data, parser)
        except etree.XMLSyntaxError as error:
            line, column = error.position
            raise SchemaError([Problem(Location(name, max(line, 1), max(column, 1)), str(error.msg))]) from None
        found = list(self.root.iter(etree.Element))
        if len(found) != len(positions):
            raise SchemaError([Problem(Location(name, 1, 1), "cannot be read: its encoding is not the one that it declares")])
        self._locations: dict[etree._Element, Location] = dict(zip(found, positions, strict=True))
        self._offsets: dict[etree._Element, int] = dict(zip(found, offsets, strict=True))

    def __contains__(self, element: etree._Element) -> bool:
        return element in self._locations

    def locate(self, element: etree._Element) -> Location:
        return self._locations[element]

    def locate_attribute(self, element: etree._Element, attribute: str) -> Location:
        """Where an attribute stands; the element's place where the bytes do not tell (UTF-16)."""
        start = self._offsets[element]
        pattern = rb"\s" + re.escape(attribute).encode() + rb"\s*=\s*[\"']"
        inside = _TAG.match(self.data, start)
        found = re.compile(pattern).search(inside.group()) if inside else None
        if found is None:
            return self.locate(element)
        before = self.data[start : start + found.start() + 1].decode("utf-8", "replace")
        location = self.locate(element)
        lines = before.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        column = len(lines[-1]) + (location.column if len(lines) == 1 else 1)
        return Location(location.file, location.line + len(lines) - 1, column)

    def validate(self, schema: etree.XMLSchema) -> list[Problem]:
        """Return what an XSD finds wrong, located at the element that it names."""
        if schema.validate(self.root):
            return []
        entries = cast("Iterable[etree._LogEntry]", schema.error_log)
        return [Problem(self._locate_error(entry), _plain(entry.message)) for entry in entries]

    def _locate_error(self, entry: etree._LogEntry) -> Location:
        on_line = [location for location in self._locations.values() if location.line == entry.line]
        if entry.path:
            found = self.root.xpath(entry.path, namespaces={key: uri for key, uri in self.root.nsmap.items() if key})
            if isinstance(found, list) and len(found) == 1 and isinstance(found[0], etree._Element):
                return self.locate(found[0])
        return on_line[0] if on_line else Location(self.name, max(entry.line, 1), 1)


def read_document(path: Path, name: str | None = None) -> Document:
    """Read and parse a file; `name` is what messages call it.  Raises SchemaError, also when it cannot be read."""
    shown = name or str(path)
    try:
        with path.open("rb") as file:
            data = file.read(FILE_LENGTH_MAX + 1)
    except OSError as error:
        raise SchemaError([Problem(Location(shown, 1, 1), f"cannot be read: {error.strerror}")]) from None
    if len(data) > FILE_LENGTH_MAX:
        raise SchemaError([Problem(Location(shown, 1, 1), f"is longer than {FILE_LENGTH_MAX} bytes, no schema")])
    return Document(shown, data)


def _plain(message: str) -> str:
    """An XSD validator's message without the namespaces in braces."""
    text = message
    while "{" in text and "}" in text[text.index("{") :]:
        start = text.index("{")
        text = text[:start] + text[text.index("}", start) + 1 :]
    return text


def _start_tags(name: str, data: bytes) -> tuple[list[Location], list[int]]:
    """Return where each start tag stands, in document order: for people, and as a count of bytes."""
    found: list[Location] = []
    offsets: list[int] = []
    parser = xml.parsers.expat.ParserCreate()

    def start(_tag: str, _attributes: dict[str, str]) -> None:
        found.append(Location(name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1))
        offsets.append(parser.CurrentByteIndex)

    def refuse_doctype(*_arguments: object) -> None:
        location = Location(name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
        raise SchemaError([Problem(location, "has a DOCTYPE; schemas must not have one")])

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse_doctype
    try:
        parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        reason = xml.parsers.expat.errors.messages[error.code]
        raise SchemaError([Problem(Location(name, error.lineno, error.offset + 1), reason)]) from None
    except (ValueError, LookupError) as error:
        raise SchemaError([Problem(Location(name, 1, 1), f"cannot be decoded: {error}")]) from None
    return found, offsets


def elements(parent: etree._Element) -> Iterator[etree._Element]:
    """The child elements of `parent`, without comments."""
    return parent.iterchildren(etree.Element)
