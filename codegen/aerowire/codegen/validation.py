"""What is wrong with each of several files, whatever they hold: message schemas, layouts, tables, or no schema at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from aerowire.codegen.document import MALFORMED, UNREADABLE, Document, read_document
from aerowire.codegen.load import is_message_schema, load_project
from aerowire.codegen.problems import Problem, SchemaError
from aerowire.codegen.sbe.reader import ReadOptions, read_message_document
from aerowire.codegen.sources import Source

VALID, INVALID, UNREADABLE_FILE = "valid", "invalid", "unreadable"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one file; `texts` are the bytes of it and of what it includes, by the names in locations.

    `unchecked` are the steps of reading a message schema that were not taken, since one before them has errors.
    """

    file: str
    problems: tuple[Problem, ...]
    texts: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    unchecked: tuple[str, ...] = ()

    @property
    def errors(self) -> int:
        return sum(problem.is_error for problem in self.problems)

    @property
    def warnings(self) -> int:
        return sum(problem.severity == "warning" for problem in self.problems)

    @property
    def notes(self) -> int:
        return sum(problem.severity == "note" for problem in self.problems)

    def verdict(self, *, are_warnings_errors: bool = False) -> str:
        """`valid`, `invalid`, or `unreadable` when the file, or one that it includes, is no XML or cannot be read."""
        if any(one.rule in (UNREADABLE, MALFORMED) for one in self.problems):
            return UNREADABLE_FILE
        return INVALID if self.errors or (are_warnings_errors and self.warnings) else VALID


def validate(sources: Sequence[Source], options: ReadOptions) -> list[Finding]:
    """Return a finding for each file, in their order; `options` are for message schemas."""
    findings: dict[int, Finding] = {}
    others: dict[int, tuple[Source, Document]] = {}
    for index, source in enumerate(sources):
        try:
            document = read_document(source.path, source.name)
        except SchemaError as error:
            findings[index] = Finding(source.name, tuple(error.problems))
            continue
        if is_message_schema(document):
            reading = read_message_document(source.path, document, options)
            findings[index] = Finding(source.name, reading.problems, reading.texts, reading.unchecked)
        else:
            others[index] = (source, document)
    findings |= _validate_others(others)
    return [findings[index] for index in range(len(sources))]


def _validate_others(others: dict[int, tuple[Source, Document]]) -> dict[int, Finding]:
    """Layouts and tables are checked together, for they refer to each other."""
    try:
        load_project([source for source, _ in others.values()])
        problems: list[Problem] = []
    except SchemaError as error:
        problems = error.problems
    names = {source.name for source, _ in others.values()}
    elsewhere = [one for one in problems if one.location.file not in names]  # of a table that stands beside a layout
    findings: dict[int, Finding] = {}
    for index, (source, document) in others.items():
        own = [one for one in problems if one.location.file == source.name]
        findings[index] = Finding(source.name, (*own, *elsewhere), {source.name: document.data})
        elsewhere = []
    return findings
