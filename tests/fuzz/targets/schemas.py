"""Schemas of messages and of layouts with any structure: an error that names a place, or a schema that can be used."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lxml import etree

from aerowire.codegen.load import load_project
from aerowire.codegen.problems import SchemaError
from aerowire.codegen.sbe.reader import read_message_schema
from aerowire.codegen.sources import Source
from tests.fuzz.fields import Fields
from tests.fuzz.target import FindingError

ROOT = Path(__file__).resolve().parents[3]
EDITS_MAX = 12
NAMES = (
    *("name", "id", "type", "primitiveType", "presence", "length", "offset", "sinceVersion", "deprecated", "valueRef", "nullValue"),
    *("blockLength", "dimensionType", "encodingType", "characterEncoding", "byteOrder", "version", "headerType", "semanticType"),
    *("minValue", "maxValue", "package", "semanticVersion", "minLength", "align", "repeats", "region", "class"),
)
VALUES = (
    *(
        "",
        "0",
        "1",
        "-1",
        "255",
        "256",
        "65534",
        "65535",
        "4294967296",
        "2147483647",
        "-2147483648",
        "18446744073709551616",
        "1e400",
        "NaN",
    ),
    *(
        "9" * 400,
        "0x10",
        "٣",
        "uint8",
        "uint64",
        "int32",
        "char",
        "double",
        "constant",
        "optional",
        "required",
        "bigEndian",
        "UTF-8",
        "UTF-16",
    ),
    *(
        "ascii",
        "messageHeader",
        "groupSizeEncoding",
        "varDataEncoding",
        "class",
        "a b",
        "a\nb",
        "name",
        "MessageHeader",
        "Enum.Value",
        "é" * 300,
    ),
)
TAGS = (
    *("type", "composite", "enum", "set", "validValue", "choice", "ref", "field", "group", "data", "message", "types", "messageSchema"),
    "{http://www.w3.org/2001/XInclude}include",
)
DEPTH = 400


class _XmlTarget:
    """A document, then edits of its elements: attributes set and removed, elements removed, repeated, moved, wrapped, renamed."""

    length_max = 120
    words = tuple(bytes([kind]) for kind in range(10))
    documents: tuple[Path, ...]

    def __init__(self) -> None:
        self._path = Path(tempfile.mkdtemp(prefix="schema-")) / "schema.xml"
        self._trees = [etree.parse(str(path)).getroot() for path in self.documents]

    def seeds(self) -> Iterable[bytes]:
        """Return each document as it is, and with an edit of each kind."""
        for number in range(len(self.documents)):
            yield bytes([number])
            for kind in range(9):
                yield bytes([number, kind, 7, 0, 3, 3, 4, 4])

    def execute(self, data: bytes) -> None:
        """Edit the document and read it."""
        fields = Fields(data)
        root = copy.deepcopy(self._trees[fields.unsigned(1) % len(self._trees)])
        for _ in range(EDITS_MAX):
            if fields.is_empty:
                break
            elements = [element for element in root.iter() if isinstance(element.tag, str)]
            self._edit(elements, fields)
        text = etree.tostring(root)
        if data[-1:] == b"\xff":  # not well-formed, or of another encoding
            text = text[: len(data) * 7] + data + text[len(data) * 7 :]
        self._path.write_bytes(text)
        self.read(self._path)

    def read(self, path: Path) -> None:
        """Read the edited document."""
        raise NotImplementedError

    def _edit(self, elements: list[Any], fields: Fields) -> None:
        kind = fields.unsigned(1) % 9
        element = elements[fields.unsigned(2) % len(elements)]
        name, value = NAMES[fields.unsigned(1) % len(NAMES)], VALUES[fields.unsigned(1) % len(VALUES)]
        other = elements[fields.unsigned(2) % len(elements)]
        parent = element.getparent()
        if kind < 3:  # most defects need one attribute only
            keys = list(element.attrib)
            element.set(keys[len(value) % len(keys)] if kind == 2 and keys else name, value)
        elif kind == 3:
            element.attrib.pop(name, None)
        elif kind == 4 and parent is not None:
            parent.remove(element)
        elif kind == 5:
            other.append(copy.deepcopy(element))
        elif kind == 6:
            element.tag = TAGS[len(name) % len(TAGS)]
        elif kind == 7:
            element.text = value
        elif kind == 8 and parent is not None and len(elements) < DEPTH:  # a chain of itself
            for _ in range(fields.unsigned(1)):
                deeper = etree.SubElement(element, element.tag, dict(element.attrib))
                element = deeper


class MessageSchemaTarget(_XmlTarget):
    """Schemas of messages (SBE)."""

    name = "sbe-schema"
    traced = ("codegen/sbe/reader", "codegen/document")
    documents = tuple(sorted((ROOT / "tests" / "codegen" / "sbe" / "schemas").glob("*.xml")))

    def read(self, path: Path) -> None:
        """Read the schema; its problems name lines."""
        reading = read_message_schema(path, "schema.xml")
        assert reading.schema is not None or reading.problems


class LayoutSchemaTarget(_XmlTarget):
    """Layouts, options, counters and error codes."""

    name = "layout-schema"
    traced = (
        "codegen/load",
        "codegen/layouts/resolve",
        "codegen/layouts/members",
        "codegen/layouts/regions",
        "codegen/layouts/variants",
        "codegen/tables/resolve_tables",
        "codegen/document",
    )
    documents = tuple(ROOT / "spec" / f"{name}.xml" for name in ("files", "archive_mark", "cluster_node_state", "errors", "logbuffer"))

    def read(self, path: Path) -> None:
        """Read the schema as the generator does."""
        try:
            load_project([Source(path, "schema.xml")])
        except SchemaError as error:
            if not error.problems:
                raise FindingError("a schema is refused without a problem") from None
