"""Where in a schema something stands, and what is wrong there.  Knows nothing of XML or of layouts."""

from __future__ import annotations

from dataclasses import dataclass


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
    """One thing wrong with a schema, worded for the person who wrote it."""

    location: Location
    message: str

    def __str__(self) -> str:
        return f"{self.location}: error: {self.message}"


class SchemaError(Exception):
    """Schemas could not be turned into an IR.  Holds every problem found, in the order of the files."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))
