"""Properties in Java's form, from files and URLs. Knows nothing of what the properties are for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from aerowire.base.errors import ConfigurationError

# What tells a URL from a file's name.
_URL_SCHEMES = ("http://", "https://", "file:")
# How long a server may say nothing, as the C driver has it, and more than anybody's properties are long.
_TIMEOUT_S = 10.0
_LENGTH_MAX = 16 * 1024 * 1024


def read_properties(name: str | os.PathLike[str]) -> dict[str, str]:
    """Read properties from a file, or what an http:, https: or file: URL names; raises ConfigurationError. Aeron: loadPropertiesFile.

    The form is Java's: `name=value`, `name: value`, # and ! comments, continued lines, \\uXXXX escapes. Properties that nobody knows are
    kept: files are shared with programs that are not ours.
    """
    text = os.fspath(name)
    octets = _fetch(text) if text.lower().startswith(_URL_SCHEMES) else _read(Path(text))
    return dict(_split_property(line) for line in _logical_lines(octets.decode("latin-1")))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            "a properties file cannot be read", where=path, expected="a readable file", actual=error.strerror or str(error)
        ) from None


def _fetch(url: str) -> bytes:
    import http.client  # with what it imports it takes longer than the rest of a start
    import urllib.error
    import urllib.request

    cause: object
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response:
            octets: bytes = response.read(_LENGTH_MAX + 1)
    except urllib.error.HTTPError as error:
        cause = f"{error.code} {error.reason}"
    except urllib.error.URLError as error:
        cause = error.reason
    except (OSError, http.client.HTTPException, ValueError) as error:
        cause = str(error) or type(error).__name__
    else:
        if len(octets) <= _LENGTH_MAX:
            return octets
        cause = f"more than {_LENGTH_MAX} bytes"
    raise ConfigurationError(
        "properties cannot be loaded", where=url, expected=f"an answer within {_TIMEOUT_S:g} s that holds them", actual=cause
    )


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
