"""Properties in Java's form, from files and URLs. Knows nothing of what the properties are for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from aerowire.base.errors import ConfigurationError

# What tells a URL from a file's name.
_URL_SCHEMES = ("http://", "https://", "file:")
# How long a server may say nothing, as the C driver has it, and more than anybody's properties are long.
_TIMEOUT_S = 10.0
_LENGTH_MAX = 16 * 1024 * 1024
# Of Java's form alone: what Python takes for ends of lines and for spaces beside these are parts of characters of UTF-8.
_LINE_END = re.compile("\r\n|\r|\n")
_SPACES = " \t\f"
_CODE_UNIT = re.compile("[0-9a-fA-F]{4}")


def read_properties(name: str | os.PathLike[str]) -> dict[str, str]:
    """Read properties from a file, or what an http:, https: or file: URL names; raises ConfigurationError. Aeron: loadPropertiesFile.

    The form is Java's: `name=value`, `name: value`, # and ! comments, continued lines, \\uXXXX escapes. Properties that nobody knows are
    kept: files are shared with programs that are not ours.
    """
    text = os.fspath(name)
    octets = _fetch(text) if text.lower().startswith(_URL_SCHEMES) else _read(Path(text))
    return dict(_split_property(line, text) for line in _logical_lines(octets.decode("latin-1")))


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            octets = file.read(_LENGTH_MAX + 1)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
    else:
        if len(octets) <= _LENGTH_MAX:
            return octets
        cause = f"more than {_LENGTH_MAX} bytes"
    raise ConfigurationError("a properties file cannot be read", where=path, expected="a readable file", actual=cause)


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
    expected = "a readable file" if url.lower().startswith("file:") else f"an answer within {_TIMEOUT_S:g} s that holds them"
    raise ConfigurationError("properties cannot be loaded", where=url, expected=expected, actual=cause)


def _logical_lines(text: str) -> Iterator[str]:
    pending: list[str] = []
    for raw in _LINE_END.split(text):
        line = raw.lstrip(_SPACES)
        if not pending and (not line or line[0] in "#!"):
            continue
        is_continued = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        pending.append(line[:-1] if is_continued else line)
        if not is_continued:
            yield "".join(pending)
            pending.clear()
    if any(pending):
        yield "".join(pending)


def _split_property(line: str, where: str) -> tuple[str, str]:
    index = 0
    while index < len(line) and line[index] not in f"=:{_SPACES}":
        index += 2 if line[index] == "\\" else 1
    name, rest = line[:index], line[index:].lstrip(_SPACES)
    if rest[:1] in {"=", ":"}:
        rest = rest[1:].lstrip(_SPACES)
    return _unescape(name, where), _unescape(rest, where).rstrip(_SPACES)


def _unescape(text: str, where: str) -> str:
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
                digits = _CODE_UNIT.match(text, index)
                if digits is None:
                    raise ConfigurationError(
                        "an escape of a property is malformed",
                        where=where,
                        expected="four hexadecimal digits behind \\u",
                        actual=ascii(text[index : index + 4]),
                    )
                char = chr(int(digits[0], 16))
                index += 4
            else:
                char = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(char, char)
        result.append(char)
    return "".join(result)
