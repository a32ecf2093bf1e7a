"""Where in a schema something stands, and what is wrong there.  Knows nothing of XML or of layouts."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass

LISTED_MAX = 20  # names in one message


def printable(text: str) -> str:
    """The text with escapes for what is no visible character, line breaks included."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def listed(names: Collection[str]) -> str:
    """Names with commas between: the first of them, and how many more there are."""
    rest = len(names) - LISTED_MAX
    return ", ".join(itertools.islice(names, LISTED_MAX)) + (f" and {rest} more" if rest > 0 else "")


@dataclass(frozen=True, order=True, slots=True)
class Location:
    """A place in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """One thing wrong with a schema, worded for the person who wrote it.

    `severity` is `error`, `warning` or, of what may well be meant so, `note`; `rule` is the name of what it breaks, where rules have names.
    """

    location: Location
    message: str
    severity: str = "error"
    rule: str = ""

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def __str__(self) -> str:
        rule = f" ({self.rule})" if self.rule else ""
        return printable(f"{self.location}: {self.severity}: {self.message}{rule}")


class SchemaError(Exception):
    """Schemas could not be turned into an IR.  Holds every problem found, in the order of the files."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))
