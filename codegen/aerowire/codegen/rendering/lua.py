"""Lua text: literals of any value, and names that Wireshark takes for filters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from aerowire.codegen.problems import printable

WIDTH = 140
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Words of Lua 5.2 and of every later version; anything else that looks like a name may be a key without brackets.
_KEYWORDS = re.compile(
    "(?:and|break|do|else|elseif|end|false|for|function|global|goto|if|in|local|nil|not|or|repeat|return|then|true|until|while)$"
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}

Value = Mapping[str, "Value"] | Mapping[int, "Value"] | Sequence["Value"] | str | bytes | int | float | bool | None


def lua_string(text: str | bytes) -> str:
    """A literal in double quotes.  Bytes outside printable ASCII are decimal escapes; letters of other scripts stand as they are."""
    if isinstance(text, bytes):
        return '"' + "".join(f"\\{byte:03d}" for byte in text) + '"'
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_character(one) for one in text) + '"'


def _character(one: str) -> str:
    if one in _ESCAPES:
        return _ESCAPES[one]
    if one.isprintable():
        return one
    # Surrogates are no text; what cannot be encoded is shown as a question mark.
    return "".join(f"\\{byte:03d}" for byte in one.encode("utf-8", "replace"))


def lua_value(value: Value, indent: int = 0) -> str:
    """Tables stand on one line where they fit.  Entries that are None are left out, lists hold none."""
    flat = _flat(value)
    if isinstance(value, str | bytes) or not isinstance(value, Mapping | Sequence) or len(flat) + indent <= WIDTH or "{" not in flat:
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, Mapping):
        lines = []
        for key, one in value.items():
            if one is not None:
                name = f"{_key(key)} = "
                lines.append(f"{inner}{name}{lua_value(one, indent + 2)},")
    else:
        lines = [f"{inner}{lua_value(one, indent + 2)}," for one in value]
    return "\n".join(["{", *lines, " " * indent + "}"])


def _flat(value: Value) -> str:
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | bytes):
        return lua_string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Mapping):
        entries = [f"{_key(key)} = {_flat(one)}" for key, one in value.items() if one is not None]
    else:
        entries = [_flat(one) for one in value]
    return "{" + (f" {', '.join(entries)} " if entries else "") + "}"


def _float(value: float) -> str:
    if math.isnan(value):
        return "(0 / 0)"
    if math.isinf(value):
        return "math.huge" if value > 0 else "-math.huge"
    return repr(value)


def _key(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return key if _WORD.match(key) and not _KEYWORDS.match(key) else f"[{lua_string(key)}]"


def lua_comment(text: str) -> str:
    """Lines of comment; no text can end one early."""
    return "\n".join(f"-- {printable(line)}".rstrip() for line in text.splitlines())


def filter_name(name: str) -> str:
    """A name as a part of a filter: letters of ASCII, digits and underscores, everything else by its code."""
    kept = "".join(one if one.isascii() and (one.isalnum() or one == "_") else f"_{ord(one):x}_" for one in name)
    return kept or "_"
