"""From a file to the tree of a message schema, with everything that is wrong with it.  The entry to the reader.

Reading goes in steps, each of them a module: the file with what it includes, types, messages, header, versions, tree.  As with the
official tool, whose counts of errors and warnings are kept, a step with errors is the last one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree

from aerowire.codegen.document import Document, read_document
from aerowire.codegen.problems import Problem, SchemaError
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.reader.building import build
from aerowire.codegen.sbe.reader.composite_rules import CompositeRules
from aerowire.codegen.sbe.reader.declared import DeclaredComposite, DeclaredMessage, DeclaredSchema, DeclaredType
from aerowire.codegen.sbe.reader.elements import MESSAGE_SCHEMA, integer, local_name, required, required_integer
from aerowire.codegen.sbe.reader.messages import read_messages
from aerowire.codegen.sbe.reader.number_rules import check_numbers
from aerowire.codegen.sbe.reader.report import Report, TooManyProblemsError, UnreadableError
from aerowire.codegen.sbe.reader.scope import Scope
from aerowire.codegen.sbe.reader.types import read_types
from aerowire.codegen.sbe.reader.version_rules import check_versions, restrict
from aerowire.codegen.sbe.reader.xinclude import expand

DEFAULT_HEADER = "messageHeader"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a schema is read.

    `lenient`: a value of an enum that equals its null value is a warning, not an error.  `since_version`: the schema as it was in
    that version.  `names`: the languages whose names the schema's are to be (see language_names.LANGUAGES).
    """

    lenient: bool = False
    xinclude: bool = True
    since_version: int | None = None
    names: tuple[str, ...] = ()


DEFAULT_OPTIONS = ReadOptions()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: `schema` is None when there are errors.  `texts` are the files' bytes by the names in locations."""

    schema: MessageSchema | None
    problems: tuple[Problem, ...]
    texts: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)


def read_message_schema(path: Path, name: str | None = None, options: ReadOptions = DEFAULT_OPTIONS) -> Reading:
    """Read a file; `name` is what messages call it.  Whatever it holds becomes problems, never an exception."""
    try:
        document = read_document(path, name)
    except SchemaError as error:
        return Reading(None, tuple(error.problems))
    return read_message_document(path, document, options)


def read_message_document(path: Path, document: Document, options: ReadOptions = DEFAULT_OPTIONS) -> Reading:
    """Read a file that is parsed already; what it includes is looked for beside `path`."""
    report = Report([document])
    schema = None
    try:
        root = expand(path, report) if options.xinclude else document.root
        if not report.has_errors:
            schema = _read(root, report, options, document.name)
    except (UnreadableError, TooManyProblemsError):
        pass
    problems = tuple(sorted(report.problems, key=lambda problem: problem.location))
    return Reading(schema, problems, {one.name: one.data for one in report.documents})


def load_message_schema(path: Path, name: str | None = None, options: ReadOptions = DEFAULT_OPTIONS) -> MessageSchema:
    """Read a file.  Raises SchemaError with all errors."""
    reading = read_message_schema(path, name, options)
    if reading.schema is None:
        raise SchemaError([problem for problem in reading.problems if problem.is_error])
    return reading.schema


def _read(root: etree._Element, report: Report, options: ReadOptions, source: str) -> MessageSchema | None:
    if local_name(root) != MESSAGE_SCHEMA:
        report.fault("not-a-schema", root, f"root element is {local_name(root)!r}; expected {MESSAGE_SCHEMA!r}")
        return None
    scope = Scope(root, report, languages=options.names, lenient=options.lenient)
    types = read_types(scope)
    if report.has_errors:
        return None
    messages = read_messages(scope, types)
    if report.has_errors:
        return None
    declared = _read_root(root, report, types, messages)
    check_versions(report, declared)
    check_numbers(report, declared)
    if report.has_errors:
        return None
    if options.since_version is not None:
        restrict(declared, options.since_version)
    return build(report, declared, source)


def _read_root(
    root: etree._Element, report: Report, types: dict[str, DeclaredType], messages: dict[int, DeclaredMessage]
) -> DeclaredSchema:
    header_name = root.get("headerType", DEFAULT_HEADER)
    attribute = "headerType" if "headerType" in root.attrib else ""
    package = required(report, root, "package")
    id = required_integer(report, root, "id")
    version = integer(report, root, "version", 0)
    header = types.get(header_name)
    if not isinstance(header, DeclaredComposite):
        state = "there is no such type" if header is None else "it is no composite"
        hint = report.suggest(header_name, types) if header is None else ""
        report.fault("no-header", root, f"message header {header_name!r}: {state}{hint}", attribute)
        raise UnreadableError
    CompositeRules(report, header, root, attribute).check_header()
    return DeclaredSchema(
        element=root,
        name=package,
        package=package,
        description=root.get("description") or "",
        id=id,
        version=version,
        semantic_version=root.get("semanticVersion") or "",
        byte_order=root.get("byteOrder", ""),
        header=header,
        types=types,
        known=types,
        messages=messages,
    )
