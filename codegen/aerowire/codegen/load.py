"""From files to a project: which schemas there are, how each is checked, and how they refer to each other.

Every problem of every file is collected before anything is reported.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from lxml import etree

from aerowire.codegen.document import Document, read_document
from aerowire.codegen.layouts.ir import Schema
from aerowire.codegen.layouts.resolve import resolve_schema
from aerowire.codegen.problems import Problem, SchemaError
from aerowire.codegen.project import Project
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import DEFAULT_OPTIONS, ReadOptions, read_message_document
from aerowire.codegen.sbe.reader.elements import MESSAGE_SCHEMA, local_name
from aerowire.codegen.sources import Source, default_spec, shown
from aerowire.codegen.tables.loading import TABLE_NAMESPACE, TABLE_ROOTS, load_tables
from aerowire.codegen.tables.resolve_tables import resolve_counters
from aerowire.codegen.tables.tables import CounterTable

LAYOUT_ROOT = "{http://fixprotocol.io/2016/sbe}messageSchema"
LAYOUT_NAMESPACE = "{urn:aerowire:layout}"


def load_project(sources: Sequence[Source], options: ReadOptions = DEFAULT_OPTIONS) -> Project:
    """Parse, validate and resolve; `options` are for message schemas.  Raises SchemaError with the problems of all files."""
    problems: list[Problem] = []
    documents: list[tuple[Source, Document]] = []
    for source in sources:
        try:
            documents.append((source, read_document(source.path, source.name)))
        except SchemaError as error:
            problems.extend(error.problems)
    messages = [_read_messages(source, document, options, problems) for source, document in documents if is_message_schema(document)]
    documents = [(source, document) for source, document in documents if not is_message_schema(document)]
    for _, document in documents:
        problems.extend(_validate(document))
    tables = load_tables(documents, problems)
    schemas: list[Schema] = []
    for source, document in documents:
        if document.root.tag != LAYOUT_ROOT:
            continue
        schema = resolve_schema(document, problems, tables.counters or _counters_beside(source, document, problems))
        if schema is not None:
            _check_package(schema, schemas, document, problems)
            schemas.append(schema)
    if problems:
        raise SchemaError(problems)
    return Project(tuple(schemas), tables, tuple(one for one in messages if one is not None))


def is_message_schema(document: Document) -> bool:
    """An SBE schema, rather than a layout: both have the same root, but layouts have elements of their own namespace."""
    return local_name(document.root) == MESSAGE_SCHEMA and next(document.root.iter(f"{LAYOUT_NAMESPACE}*"), None) is None


def _read_messages(
    source: Source, document: Document, options: ReadOptions, problems: list[Problem]
) -> tuple[MessageSchema, Placement] | None:
    reading = read_message_document(source.path, document, options)
    problems.extend(problem for problem in reading.problems if problem.is_error)
    if reading.schema is None:
        return None
    is_project = source.is_of_set or source.path.resolve().parent == default_spec().resolve()
    return reading.schema, Placement.of_project(source.path.stem) if is_project else Placement(reading.schema.package)


def _counters_beside(source: Source, document: Document, problems: list[Problem]) -> CounterTable | None:
    """The counters table in the same folder, for a schema that refers to it and was named alone."""
    path = source.path.with_name("counters.xml")
    if not document.root.xpath("//@table") or not path.is_file():
        return None
    try:
        return resolve_counters(read_document(path, shown(path)), problems)
    except SchemaError as error:
        problems.extend(error.problems)
        return None


def _check_package(schema: Schema, earlier: list[Schema], document: Document, problems: list[Problem]) -> None:
    for other in earlier:
        if other.package == schema.package:
            problems.append(Problem(document.locate(document.root), f"package {schema.package!r} is also that of {other.source}"))


def _validate(document: Document) -> list[Problem]:
    tag = str(document.root.tag)
    if tag == LAYOUT_ROOT:
        return document.validate(_xsd("sbe.xsd"))
    if tag.removeprefix(TABLE_NAMESPACE) in TABLE_ROOTS and tag.startswith(TABLE_NAMESPACE):
        return document.validate(_xsd("tables.xsd"))
    expected = f"sbe:messageSchema ({LAYOUT_ROOT[1:].split('}', maxsplit=1)[0]}) or {', '.join(TABLE_ROOTS)} ({TABLE_NAMESPACE[1:-1]})"
    return [Problem(document.locate(document.root), f"root element {tag!r} is no schema; expected {expected}", rule="not-a-schema")]


@functools.cache
def _xsd(name: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(default_spec() / name)))
