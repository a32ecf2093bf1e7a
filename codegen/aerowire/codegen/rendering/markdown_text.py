"""Markdown: tables, anchors and links, whatever a description or a name holds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aerowire.codegen.mark import mark
from aerowire.codegen.problems import printable

# Within a word an underscore is none, and an ampersand is one only where it looks like the start of an entity.
_SPECIAL = re.compile(r"([\\`*{}\[\]<>|#~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&(?=#?\w+;))")
_AT_START = re.compile(r"^([-+](?=[\s-]|$)|\d+(?=[.)](?:\s|$)))")


def prose(text: str) -> str:
    """Text on one line, none of which is mark-up."""
    escaped = _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))
    return _AT_START.sub(lambda start: _escaped_start(start[0]), escaped)


def _escaped_start(start: str) -> str:
    """What would begin a list or draw a line; of a number, its point is what makes the list."""
    return start + "\\" if start.isdigit() else "\\" + start


def code(text: str) -> str:
    """A name or a value as it is, in a table too."""
    plain = printable(" ".join(text.split())).replace("|", "\\|")
    return _span(plain) if plain else ""


def literal(text: str) -> str:
    """A text with its spaces as they are, within a table too; CommonMark takes one space away if both ends have one."""
    padded = f" {text} " if text[:1] == " " == text[-1:] else text
    return _span(printable(padded)).replace("|", "\\|") if text else ""


def _span(text: str) -> str:
    """Code that no backtick in it ends."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"`{text}`" if len(fence) == 1 else f"{fence} {text} {fence}"


def anchor(kind: str, name: str) -> str:
    """The identifier of a place: `message-Order`."""
    kept = "".join(one if one.isascii() and (one.isalnum() or one in "_.") else f"-{ord(one):x}" for one in name)
    return f"{kind}-{kept}"


def heading(level: int, text: str, identifier: str) -> list[str]:
    """A heading that links can name."""
    return [place(identifier), "", f"{'#' * level} {text}", ""]


def place(identifier: str) -> str:
    """What makes a cell of a table a place that links can name."""
    return f'<a id="{identifier}"></a>'


def link(text: str, identifier: str, *, file: str = "", is_code: bool = True) -> str:
    """A link to a place of this page, or of the page `file` beside it."""
    return f"[{code(text) if is_code else prose(text)}]({file}#{identifier})"


def drawing(text: str) -> list[str]:
    return ["```text", text, "```", ""]


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table without the columns that are empty in every row; of no rows, nothing."""
    if not rows:
        return []
    kept = [index for index in range(len(titles)) if index == 0 or any(row[index] for row in rows)]
    lines = ["| " + " | ".join(titles[index] for index in kept) + " |", "|" + "---|" * len(kept)]
    lines += ["| " + " | ".join(row[index] for index in kept) + " |" for row in rows]
    return [*lines, ""]


def page(source: str, lines: Sequence[str]) -> str:
    """A whole page, with the mark of generated files."""
    return "\n".join([f"<!-- {mark(source)} -->", *lines]).rstrip() + "\n"
