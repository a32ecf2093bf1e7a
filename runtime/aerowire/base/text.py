"""Text of other processes on one printable line. Labels, channels, errors and file names may hold any character."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return foreign text on one line: characters that steer a terminal, break a line or hide become escapes, a tab four spaces."""
    if text.isprintable():
        return text
    return "".join(part if part.isprintable() else repr(part)[1:-1] for part in text.replace("\t", "    "))
