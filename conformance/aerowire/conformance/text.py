"""Text of drivers, captures and file names on one printable line."""

from __future__ import annotations


def printable(text: object) -> str:
    """Return foreign text on one line, with escapes for characters that steer a terminal, break a line or hide."""
    plain = str(text)
    return plain if plain.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in plain)


def printable_error(text: object) -> str:
    """Return an error of one or more lines; lines after the first are indented, so that none looks like output of the command."""
    return "\n    ".join(printable(line.removesuffix("\r")) for line in str(text).split("\n"))
