"""Files of properties in Java's form. Knows nothing of what the properties are for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from aerowire.base.errors import ConfigurationError


def read_properties_file(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a Java properties file: `name=value`, `name: value`, # and ! comments, continued lines, \\uXXXX escapes.

    Properties that nobody knows are kept: files are shared with programs that are not ours.
    """
    source = Path(path)
    try:
        text = source.read_text(encoding="latin-1")
    except OSError as error:
        raise ConfigurationError(
            "a properties file cannot be read", where=source, expected="a readable file", actual=error.strerror or str(error)
        ) from None
    return dict(_split_property(line) for line in _logical_lines(text))


def _logical_lines(text: str) -> Iterator[str]:
    pending = ""
    for raw in text.splitlines():
        line = raw.lstrip()
        if not pending and (not line or line[0] in "#!"):
            continue
        pending += line
        trailing = len(pending) - len(pending.rstrip("\\"))
        if trailing % 2:
            pending = pending[:-1]
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _split_property(line: str) -> tuple[str, str]:
    index = 0
    while index < len(line) and line[index] not in "=: \t":
        index += 2 if line[index] == "\\" else 1
    name, rest = line[:index], line[index:].lstrip(" \t")
    if rest[:1] in {"=", ":"}:
        rest = rest[1:].lstrip(" \t")
    return _unescape(name), _unescape(rest).rstrip()


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    result: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        index += 1
        if char == "\\" and index < len(text):
            char = text[index]
            index += 1
            if char == "u":
                char = chr(int(text[index : index + 4], 16))
                index += 4
            else:
                char = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(char, char)
        result.append(char)
    return "".join(result)
