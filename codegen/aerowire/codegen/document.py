"""An XML file as a tree whose every element knows its line and column.  Knows nothing of schemas' meaning.

lxml keeps lines only, so a second pass with expat notes where each start tag stands; both see the elements in the same order.
"""

from __future__ import annotations

import codecs
import re
import xml.parsers.expat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from lxml import etree

from aerowire.codegen.problems import Location, Problem, SchemaError

UNREADABLE, MALFORMED, NAME_TOO_LONG = "unreadable", "not-well-formed", "name-too-long"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_STRANGE_CODECS = ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "utf-7")  # Python's own, or no encodings of files
DEPTH_MAX = 256  # the parser's own limit
LAYOUT_MARK = b"urn:aerowire"

_DECLARATION = re.compile(rb"\A(<\?xml[^>]*?\bencoding\s*=\s*[\"'])([A-Za-z][A-Za-z0-9._-]*)([\"'])")
_TAG = re.compile(rb"<(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")

# An XSD's validator counts the elements in front of each that is wrong; the project's own files have some hundreds.
ELEMENTS_MAX, XSD_PROBLEMS_MAX = 10_000, 1_000
FILE_LENGTH_MAX = 16 << 20  # a schema is written by people; anything longer is the wrong file
NUMERAL_LENGTH_MAX = 100  # the longest of 64 bits is in bits, with a prefix; Python refuses to print one of thousands of digits
NAME_LENGTH_MAX = 1024  # generated code, messages and each row of a column repeat a name, so that a long one would fill the memory


class Document:
    """A parsed file: `root`, its text in UTF-8 as `data`, and the location of each of its elements."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data = _as_utf8(name, data)
        positions, offsets = _start_tags(name, data)
        self.root = _parse(name, data)
        found = list(self.root.iter(etree.Element))
        if len(found) != len(positions):
            raise SchemaError([_unreadable(name, "its encoding is not the one that it declares")])
        self._locations: dict[etree._Element, Location] = dict(zip(found, positions, strict=True))
        self._offsets: dict[etree._Element, int] = dict(zip(found, offsets, strict=True))
        self._check_names()

    def __contains__(self, element: etree._Element) -> bool:
        return element in self._locations

    def locate(self, element: etree._Element) -> Location:
        return self._locations[element]

    def locate_attribute(self, element: etree._Element, attribute: str) -> Location:
        """Where an attribute stands; the element's place when it has none of that name."""
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

    def _check_names(self) -> None:
        """Raise SchemaError where a name is too long, whatever it is the name of."""
        long = [(one, kind) for one in self._locations for kind in ("name", "package") if len(one.get(kind, "")) > NAME_LENGTH_MAX]
        if long:
            raise SchemaError([self._name_too_long(element, kind) for element, kind in long])

    def _name_too_long(self, element: etree._Element, kind: str) -> Problem:
        tag = etree.QName(element).localname
        message = f"{kind} of {tag} has {len(element.get(kind, ''))} characters; expected at most {NAME_LENGTH_MAX}"
        return Problem(self.locate_attribute(element, kind), message, rule=NAME_TOO_LONG)

    def validate(self, schema: etree.XMLSchema) -> list[Problem]:
        """Return what an XSD finds wrong, located at the element that it names."""
        if len(self._locations) > ELEMENTS_MAX:
            message = f"the file has {len(self._locations)} elements; expected at most {ELEMENTS_MAX}"
            return [Problem(self.locate(self.root), message)]
        if schema.validate(self.root):
            return []
        entries = list(cast("Iterable[etree._LogEntry]", schema.error_log))
        # Paths have prefixes as they are written; some may be declared below the root.
        declared = {key: uri for element in self.root.iter(etree.Element) for key, uri in element.nsmap.items() if key}
        problems = [Problem(self._locate_error(entry, declared), _plain(entry.message)) for entry in entries[:XSD_PROBLEMS_MAX]]
        if len(entries) > XSD_PROBLEMS_MAX:
            problems.append(Problem(problems[-1].location, f"{len(entries) - XSD_PROBLEMS_MAX} more problems like these are left out"))
        return problems

    def _locate_error(self, entry: etree._LogEntry, declared: dict[str, str]) -> Location:
        if entry.path:
            found = self.root.xpath(entry.path, namespaces=declared)
            if isinstance(found, list) and len(found) == 1 and isinstance(found[0], etree._Element):
                return self.locate(found[0])
        on_line = (location for location in self._locations.values() if location.line == entry.line)
        return next(on_line, Location(self.name, max(entry.line, 1), 1))


def read_document(path: Path, name: str | None = None) -> Document:
    """Read and parse a file; `name` is what messages call it.  Raises SchemaError, also when it cannot be read."""
    shown = name or str(path)
    return Document(shown, read_bytes(path, shown))


def read_bytes(path: Path, name: str) -> bytes:
    """Read a file that is not too long to be a schema.  Raises SchemaError."""
    try:
        with path.open("rb") as file:
            data = file.read(FILE_LENGTH_MAX + 1)
    except OSError as error:
        raise SchemaError([_unreadable(name, str(error.strerror))]) from None
    except ValueError as error:
        raise SchemaError([_unreadable(name, str(error))]) from None
    if len(data) > FILE_LENGTH_MAX:
        raise SchemaError([Problem(Location(name, 1, 1), f"is longer than {FILE_LENGTH_MAX} bytes, no schema", rule=UNREADABLE)])
    return data


def _unreadable(name: str, reason: str) -> Problem:
    return Problem(Location(name, 1, 1), f"cannot be read: {reason}", rule=UNREADABLE)


def _undecodable(name: str, error: Exception) -> Problem:
    return Problem(Location(name, 1, 1), f"cannot be decoded: {error}", rule=UNREADABLE)


def _as_utf8(name: str, data: bytes) -> bytes:
    """The text of a file in UTF-8, whatever encoding it declares; a parser knows fewer encodings than Python."""
    if data.startswith(_UTF16_MARKS):
        encoding = "utf-16"
    else:
        data = data.removeprefix(codecs.BOM_UTF8)
        declared = _DECLARATION.match(data)
        encoding = declared[2].decode("ascii") if declared else "utf-8"
    try:
        codec = codecs.lookup(encoding).name
        if codec in ("utf-8", "ascii"):
            return data
        if codec in _STRANGE_CODECS or (codec.startswith(("utf-16", "utf-32")) and not data.startswith(_UTF16_MARKS)):
            raise ValueError(f"it declares {encoding}, but is not")
        text = data.decode(encoding).encode("utf-8")
    except (LookupError, ValueError) as error:
        raise SchemaError([_undecodable(name, error)]) from None
    return _DECLARATION.sub(rb"\g<1>utf-8\g<3>", text, count=1)


def _parse(name: str, data: bytes) -> etree._Element:
    """The tree of a file that another parser has found to be well-formed.

    Prefixes that nobody declares are a fault of some message schemas that the official tool does not see; no layout may have them.
    """
    parser = _parser(recover=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        kinds = {entry.type for entry in cast("Iterable[etree._LogEntry]", parser.error_log)}
        if kinds == {etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE} and LAYOUT_MARK not in data:
            return etree.fromstring(data, _parser(recover=True))
        line, column = error.position
        message = f"elements are nested more than {DEPTH_MAX} deep" if "depth" in str(error.msg) else str(error.msg)
        raise SchemaError([Problem(Location(name, max(line, 1), max(column, 1)), message, rule=MALFORMED)]) from None


def _parser(*, recover: bool) -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True, recover=recover)


def _plain(message: str) -> str:
    """An XSD validator's message without the namespaces in braces."""
    return re.sub(r"\{[^{}]*\}", "", message)


def _start_tags(name: str, data: bytes) -> tuple[list[Location], list[int]]:
    """Return where each start tag stands, in document order: for people, and as a count of bytes."""
    found: list[Location] = []
    offsets: list[int] = []
    parser = xml.parsers.expat.ParserCreate()

    def start(_tag: str, _attributes: dict[str, str]) -> None:
        found.append(Location(name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1))
        offsets.append(parser.CurrentByteIndex)

    def check_doctype(_root: str, system_id: str | None, public_id: str | None, has_declarations: bool) -> None:
        """One that declares and names nothing means nothing; B3's schemas begin with such a one."""
        if has_declarations or system_id is not None or public_id is not None:
            location = Location(name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
            raise SchemaError([Problem(location, "has a DOCTYPE that declares or names something; schemas must not", rule=MALFORMED)])

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = check_doctype
    try:
        parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        reason = xml.parsers.expat.errors.messages[error.code]
        raise SchemaError([Problem(Location(name, error.lineno, error.offset + 1), reason, rule=MALFORMED)]) from None
    except (ValueError, LookupError) as error:
        raise SchemaError([_undecodable(name, error)]) from None
    return found, offsets


def integer(text: str) -> int:
    """The number that an attribute holds, decimal or with a prefix such as 0x.  Raises ValueError, also for a number that is too long."""
    if len(text) > NUMERAL_LENGTH_MAX:
        raise ValueError(f"a number of {len(text)} characters")
    return int(text, 0)


def elements(parent: etree._Element) -> Iterator[etree._Element]:
    """The child elements of `parent`, without comments."""
    return parent.iterchildren(etree.Element)
