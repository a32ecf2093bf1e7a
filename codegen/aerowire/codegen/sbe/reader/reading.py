"""From a file to the tree of a message schema, with everything that is wrong with it.  The entry to the reader.

Reading goes in steps, each of them a module: the file with what it includes, types, messages, header, versions, tree.  As with the
official tool, whose counts of errors and warnings are kept, a step with errors is the last one, unless all are wanted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from aerowire.codegen.document import Document, read_document
from aerowire.codegen.problems import Problem, SchemaError
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.reader.building import build
from aerowire.codegen.sbe.reader.composite_rules import CompositeRules
from aerowire.codegen.sbe.reader.declared import DeclaredComposite, DeclaredMessage, DeclaredSchema, DeclaredType
from aerowire.codegen.sbe.reader.elements import MESSAGE_SCHEMA, integer, local_name, required, required_integer
from aerowire.codegen.sbe.reader.messages import read_messages
from aerowire.codegen.sbe.reader.misspellings import note_misspellings
from aerowire.codegen.sbe.reader.number_rules import check_numbers
from aerowire.codegen.sbe.reader.report import Report, TooManyProblemsError, UnreadableError
from aerowire.codegen.sbe.reader.scope import Scope
from aerowire.codegen.sbe.reader.types import read_types
from aerowire.codegen.sbe.reader.version_rules import check_versions, restrict
from aerowire.codegen.sbe.reader.xinclude import expand

T = TypeVar("T")

DEFAULT_HEADER = "messageHeader"
INCLUDES = "includes"
STEPS = (INCLUDES, "types", "messages", "header", "code")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a schema is read.

    `include_roots`: folders from which it may include files, besides its own.
    `lenient`: a value of an enum that equals its null value is a warning, not an error.  `since_version`: the schema as it was in
    that version.  `names`: the languages whose names the schema's are to be (see language_names.LANGUAGES).  `all_steps`: go on
    behind a step with errors.
    """

    lenient: bool = False
    xinclude: bool = True
    include_roots: tuple[Path, ...] = ()
    since_version: int | None = None
    names: tuple[str, ...] = ()
    all_steps: bool = False


DEFAULT_OPTIONS = ReadOptions()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: `schema` is None when there are errors.  `texts` are the files' bytes by the names in locations.

    `unchecked`: the steps (of STEPS) that were not taken, since one before them has errors.
    """

    schema: MessageSchema | None
    problems: tuple[Problem, ...]
    texts: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    unchecked: tuple[str, ...] = ()


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
    steps = _Steps(report, options, document)
    schema = None
    with contextlib.suppress(TooManyProblemsError):
        schema = steps.take(path)
    problems = tuple(sorted(report.problems, key=lambda problem: problem.location))
    return Reading(schema, problems, {one.name: one.data for one in report.documents}, steps.unchecked)


def load_message_schema(path: Path, name: str | None = None, options: ReadOptions = DEFAULT_OPTIONS) -> MessageSchema:
    """Read a file.  Raises SchemaError with all errors."""
    reading = read_message_schema(path, name, options)
    if reading.schema is None:
        raise SchemaError([problem for problem in reading.problems if problem.is_error])
    return reading.schema


class _Steps:
    """Takes one step after the other; `unchecked` are those that are left."""

    def __init__(self, report: Report, options: ReadOptions, document: Document) -> None:
        self._report = report
        self._options = options
        self._document = document
        self.unchecked: tuple[str, ...] = ()

    def take(self, path: Path) -> MessageSchema | None:
        """Return the schema, None when there are errors.  Raises TooManyProblemsError."""
        report, options = self._report, self._options
        root = expand(path, report, options.include_roots) if options.xinclude else self._document.root
        if local_name(root) != MESSAGE_SCHEMA:
            report.fault("not-a-schema", root, f"root element is {local_name(root)!r}; expected {MESSAGE_SCHEMA!r}")
            return None
        note_misspellings(report, root)
        scope = Scope(root, report, languages=options.names, lenient=options.lenient, is_partial=report.has_errors)
        if self._is_last(INCLUDES):
            return None
        types = read_types(scope)
        if self._is_last("types"):
            return None
        messages = read_messages(scope, types)
        if self._is_last("messages"):
            return None
        declared = self._check_root(scope, types, messages)
        if self._is_last("header") or declared is None:
            return None
        if options.since_version is not None and not report.has_errors:
            restrict(declared, options.since_version)
        return build(report, declared, self._document.name)

    def _is_last(self, step: str) -> bool:
        if self._options.all_steps or not self._report.has_errors:
            return False
        self.unchecked = STEPS[STEPS.index(step) + 1 :]
        return True

    def _check_root(self, scope: Scope, types: dict[str, DeclaredType], messages: dict[int, DeclaredMessage]) -> DeclaredSchema | None:
        """Read what the root says, and hold against it what depends on it."""
        report, root = self._report, scope.root
        package = _attempt(lambda: required(report, root, "package"))
        id = _attempt(lambda: required_integer(report, root, "id"))
        version = _attempt(lambda: integer(report, root, "version", 0))
        header = _attempt(lambda: _header(scope, types))
        is_whole = version is not None and package is not None and id is not None
        if header is None or not (is_whole or self._options.all_steps):
            return None
        declared = DeclaredSchema(
            element=root,
            name=package or "",
            package=package or "",
            description=root.get("description") or "",
            id=id or 0,
            version=version or 0,
            semantic_version=root.get("semanticVersion") or "",
            byte_order=root.get("byteOrder", ""),
            header=header,
            types=types,
            known=types,
            messages=messages,
        )
        if self._options.all_steps and version is not None and version < 0:
            report.fault("bad-number", root, f"version of {MESSAGE_SCHEMA}: {version} is negative", "version")
        elif version is not None:
            check_versions(report, declared)
        check_numbers(report, declared)
        return declared


def _attempt(read: Callable[[], T]) -> T | None:
    """What can be read, None where the report says why it cannot."""
    try:
        return read()
    except UnreadableError:
        return None


def _header(scope: Scope, types: dict[str, DeclaredType]) -> DeclaredComposite:
    report, root = scope.report, scope.root
    name = root.get("headerType", DEFAULT_HEADER)
    header = types.get(name)
    if header is None and scope.is_told(name):
        raise UnreadableError
    if not isinstance(header, DeclaredComposite):
        state = "there is no such type" if header is None else "it is no composite"
        hint = report.suggest(name, types) if header is None else ""
        report.fault("no-header", root, f"message header {name!r}: {state}{hint}", "headerType")
        raise UnreadableError
    with contextlib.suppress(UnreadableError):
        CompositeRules(report, header, root, "headerType").check_header()
    return header
