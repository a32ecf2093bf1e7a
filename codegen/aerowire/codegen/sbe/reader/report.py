"""What reading a schema finds wrong, in the order in which it is found.  Knows where elements stand, and nothing of the rules.

The counts are part of the contract: they are those of the official tool, wherever that gives any.  Where that tool ends with an
exception this one notes a fault and goes on; a fault is noted once, however often its element is read.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from lxml import etree

from aerowire.codegen.document import Document
from aerowire.codegen.problems import Location, Problem

# The search for a similar name is slow for long names, and a report needs no more suggestions.
SUGGESTIONS_MAX, CANDIDATES_MAX, SUGGESTED_LENGTH_MAX = 20, 1_000, 100
LENGTHS_APART_MAX = 4
MESSAGE_LENGTH_MAX = 500  # a name in it may have megabytes
PROBLEMS_MAX = 100_000  # a hostile schema must not fill the memory with what is wrong with it


class UnreadableError(Exception):
    """A declaration cannot be read further; what is wrong is in the report already."""


class TooManyProblemsError(Exception):
    """The report is full."""


class Report:
    """Problems of one schema; `documents` are its files, the first is the schema itself."""

    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents
        self.problems: list[Problem] = []
        self._plain: list[tuple[str, etree._Element, str, str, str]] = []
        self._faults: set[tuple[Location, str]] = set()
        self._through: list[str] = []
        self._suggestions = 0
        self._locations: dict[tuple[etree._Element, str], Location] = {}

    @property
    def has_errors(self) -> bool:
        return any(problem.is_error for problem in self.problems)

    def error(self, rule: str, element: etree._Element, message: str, attribute: str = "") -> None:
        self._add(rule, element, message, attribute, "error")

    def warning(self, rule: str, element: etree._Element, message: str, attribute: str = "") -> None:
        self._add(rule, element, message, attribute, "warning")

    def note(self, rule: str, element: etree._Element, message: str, attribute: str = "") -> None:
        """Note what is likely to be a mistake, though no rule forbids it; it counts nowhere."""
        self._append(Problem(self.locate(element, attribute), message, "note", rule))

    def fault(self, rule: str, element: etree._Element, message: str, attribute: str = "") -> None:
        """Note an error at which the official tool ends with an exception."""
        key = (self.locate(element, attribute), message)
        if key not in self._faults:
            self._faults.add(key)
            self._append(Problem(key[0], message, "error", rule))

    @contextmanager
    def through(self, reason: str) -> Iterator[None]:
        """A declaration is read once more because something refers to it; its problems then say what."""
        self._through.append(reason)
        try:
            yield
        finally:
            self._through.pop()

    @property
    def count(self) -> int:
        """How many problems there are that count each time, faults left out."""
        return len(self._plain)

    def repeat(self, first: int, last: int) -> None:
        """Note once more the problems with these counts: what they are problems of is used again."""
        for problem in self._plain[first:last]:
            self._add(*problem)

    def locate(self, element: etree._Element, attribute: str = "") -> Location:
        """Where an attribute of an element stands; the element's place when it has none of that name."""
        location = self._locations.get((element, attribute))
        if location is None:
            document = next(one for one in self.documents if element in one)
            is_there = attribute != "" and attribute in element.attrib
            location = document.locate_attribute(element, attribute) if is_there else document.locate(element)
            self._locations[element, attribute] = location  # the problems of a type are reported for each of its uses
        return location

    def suggest(self, name: str, known: Iterable[str]) -> str:
        """`; did you mean "Car"?` where a known name is like this one."""
        self._suggestions += 1
        if self._suggestions > SUGGESTIONS_MAX or len(name) > SUGGESTED_LENGTH_MAX:
            return ""
        near = (one for one in known if abs(len(one) - len(name)) <= LENGTHS_APART_MAX)
        found = difflib.get_close_matches(name, itertools.islice(near, CANDIDATES_MAX), 1)
        return f'; did you mean "{found[0]}"?' if found else ""

    def _add(self, rule: str, element: etree._Element, message: str, attribute: str, severity: str) -> None:
        self._plain.append((rule, element, message, attribute, severity))
        text = f"{message}; read for {self._through[-1]}" if self._through else message
        self._append(Problem(self.locate(element, attribute), text, severity, rule))

    def _append(self, problem: Problem) -> None:
        if len(self.problems) == PROBLEMS_MAX:
            message = f"more than {PROBLEMS_MAX} problems; the rest is left out"
            self.problems.append(Problem(problem.location, message, "error", "too-many-problems"))
        if len(self.problems) > PROBLEMS_MAX:
            raise TooManyProblemsError
        if len(problem.message) > MESSAGE_LENGTH_MAX:
            problem = dataclasses.replace(problem, message=f"{problem.message[:MESSAGE_LENGTH_MAX]}...")
        self.problems.append(problem)
