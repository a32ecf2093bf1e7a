"""A problem as people see it: the line, the source line under it, and a caret under the column."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from aerowire.codegen.problems import Problem

LINE_LENGTH_MAX = 120
TAB = "    "
CUT = "..."


class Snippets:
    """Shows problems; `texts` are the files' bytes in UTF-8 by the names that locations have."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts
        self._lines: dict[str, list[bytes]] = {}
        self._last: tuple[str, int, str] = ("", 0, "")

    def show(self, problem: Problem) -> str:
        """Return the problem with its source line and caret, where there is one; nothing in it controls a terminal."""
        shown = str(problem)
        line = self._line(problem.location.file, problem.location.line)
        if not line or line.isspace() or problem.location.column > len(line):
            return shown
        source, column = _cut(line, problem.location.column - 1)
        return f"{shown}\n    {_cells(source)}\n    {' ' * _width(source[:column])}^"

    def _line(self, file: str, number: int) -> str:
        if self._last[:2] != (file, number):  # many problems may share a line of many megabytes
            self._last = (file, number, self._read_line(file, number))
        return self._last[2]

    def _read_line(self, file: str, number: int) -> str:
        if file not in self._lines:
            text = self._texts.get(file, b"")
            self._lines[file] = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        lines = self._lines[file]
        return lines[number - 1].decode("utf-8", "replace") if 0 < number <= len(lines) else ""


def _cut(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around the column, and the column in it."""
    if len(line) <= LINE_LENGTH_MAX:
        return line, column
    start = min(max(column - LINE_LENGTH_MAX // 2, 0), len(line) - LINE_LENGTH_MAX)
    before, after = CUT if start else "", CUT if start + LINE_LENGTH_MAX < len(line) else ""
    return before + line[start : start + LINE_LENGTH_MAX] + after, column - start + len(before)


def _cells(line: str) -> str:
    return "".join(TAB if one == "\t" else one if one.isprintable() else "?" for one in line)


def _width(line: str) -> int:
    """How many cells of a terminal the characters take."""
    return sum(_cell_count(one) for one in line)


def _cell_count(one: str) -> int:
    if one == "\t":
        return len(TAB)
    if unicodedata.combining(one):
        return 0
    return 2 if unicodedata.east_asian_width(one) in "WF" else 1
