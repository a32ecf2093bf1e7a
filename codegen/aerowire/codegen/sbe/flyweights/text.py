"""Python text as `ruff format` leaves it: docstrings of any description, calls that fit a line or have an argument on each."""

from __future__ import annotations

import ast
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

WIDTH = 140
INDENT = "    "
_CHOICE = re.compile(r"( +)([^* ].*?) if (\S+ is None) else (.+),")
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def literal(text: str) -> str:
    """A string in ASCII, in the quotes that need fewer backslashes, double ones by preference."""
    escaped = text.encode("unicode_escape").decode("ascii")
    quote = "'" if escaped.count('"') > escaped.count("'") else '"'
    return quote + escaped.replace(quote, f"\\{quote}") + quote


def byte_literal(data: bytes) -> str:
    """Bytes in double quotes."""
    return 'b"' + "".join(chr(one) if 32 <= one < 127 and one not in b'"\\\\' else f"\\x{one:02x}" for one in data) + '"'


def number(value: float) -> str:
    """A number as an expression that needs no import."""
    if isinstance(value, float) and (value != value or value in {float("inf"), float("-inf")}):  # noqa: PLR0124
        return f'float("{value}")'
    return repr(value).replace("e+", "e")


def docstring(text: str, level: int, *more: str) -> list[str]:
    """A docstring of a description and further paragraphs, whatever characters they have; none when there is nothing to say."""
    paragraphs = [paragraph for paragraph in (_visible(one) for one in (text, *more)) if paragraph]
    if not paragraphs:
        return []
    indent = INDENT * level
    wrapped = [textwrap.wrap(one, 118 - len(indent), break_long_words=False, break_on_hyphens=False) for one in paragraphs]
    if wrapped[0][0].startswith('"'):
        wrapped[0][0] = f" {wrapped[0][0]}"
    if len(wrapped) == 1 and len(wrapped[0]) == 1:
        return [f'{indent}"""{_closed(wrapped[0][0])}"""']
    lines = [f'{indent}"""{wrapped[0][0]}', *(f"{indent}{line}" for line in wrapped[0][1:])]
    for paragraph in wrapped[1:]:
        lines += ["", *(f"{indent}{line}" for line in paragraph)]
    return [*lines, f'{indent}"""']


def one_line(text: str) -> str:
    """A description that may stand in a docstring, whatever characters it has."""
    return _closed(_visible(text))


def _visible(text: str) -> str:
    """One line without what would end a docstring, change how it is read, or not be seen."""
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "".join(one if unicodedata.category(one) not in _HIDDEN else literal(one)[1:-1] for one in escaped)


def _closed(line: str) -> str:
    """A line that the closing quotes may follow."""
    backslashes = len(line[:-1]) - len(line[:-1].rstrip("\\"))
    # An odd number of them escapes the quote already.
    return line[:-1] + '\\"' if line.endswith('"') and backslashes % 2 == 0 else line


def spread(before: str, items: Sequence[str], after: str, level: int) -> list[str]:
    """`before` items `after` on one line, or an item on each."""
    indent = INDENT * level
    line = f"{indent}{before}{', '.join(items)}{after}"
    if len(line) <= WIDTH or not items:
        return [line]
    inner = [line for item in items for line in _item(f"{indent}{INDENT}", item)]
    return [f"{indent}{before}", *inner, f"{indent}{after}"]


def spread_tuple(before: str, items: Sequence[str], level: int) -> list[str]:
    """`before` and a tuple, on one line or an item on each."""
    return [f"{INDENT * level}{before}({items[0]},)"] if len(items) == 1 else spread(f"{before}(", items, ")", level)


def is_text(expression: str) -> bool:
    """Whether an expression is one string and nothing else, as a key with its value is not."""
    if expression[:1] not in {'"', "'"}:
        return False
    try:
        return isinstance(ast.literal_eval(expression), str)
    except SyntaxError:
        return False


def _item(margin: str, item: str) -> list[str]:
    if len(margin) + len(item) < WIDTH or not is_text(item):
        return [f"{margin}{item},"]
    first, *rest = pieces(item, f"{margin}{INDENT}", "")
    return [f"{margin}(", first, *(f"{margin}{INDENT}{one}" for one in rest), f"{margin}),"] if rest else [f"{margin}{item},"]


def pieces(text: str, before: str, after: str) -> list[str]:
    """A literal as several that stand below each other and are one text again; each ends behind a space."""
    found: list[str] = []
    line, margin = "", len(before) - len(before.lstrip())
    for word in re.findall(r"\S*\s+|\S+$", ast.literal_eval(text)):
        room = WIDTH - len(after) - (margin if found else len(before))
        if line and len(literal(line + word)) > room:
            found.append(literal(line))
            line = ""
        line += word
    parts = [*found, literal(line)]
    return [f"{before}{parts[0]}", *parts[1:-1], *(f"{one}{after}" for one in parts[1:][-1:])] if found else [f"{before}{text}{after}"]


def mapping(before: str, entries: Iterable[tuple[str, str]], level: int) -> list[str]:
    """A dict."""
    return spread(f"{before}{{", [f"{key}: {value}" for key, value in entries], "}", level)


def spread_flat(before: str, inside: str, after: str, level: int) -> list[str]:
    """The same with all that is inside on a line of its own."""
    indent = INDENT * level
    line = f"{indent}{before}{inside}{after}"
    return [line] if len(line) <= WIDTH else [f"{indent}{before}", f"{indent}{INDENT}{inside}", f"{indent}{after}"]


def choices_apart(lines: Iterable[str]) -> Iterator[str]:
    """The lines with each argument `a if b is None else c` that is too long for one on three."""
    for line in lines:
        found = _CHOICE.fullmatch(line) if len(line) > WIDTH else None
        if found is None:
            yield line
        else:
            indent, one, test, other = found.groups()
            yield from (f"{indent}{one}", f"{indent}if {test}", f"{indent}else {other},")


def joined(items: Sequence[str]) -> str:
    """The inside of a tuple."""
    return f"{items[0]}," if len(items) == 1 else ", ".join(items)


def definition(name: str, expression: str) -> list[str]:
    """An assignment at the top of a module; what is too long for a line is a call or in parentheses."""
    line = f"{name} = {expression}"
    if len(line) <= WIDTH:
        return [line]
    before, parenthesis, rest = expression.partition("(")
    inside, _, method = rest.rpartition(")")
    if not parenthesis or not before.isidentifier():
        return [f"{name} = (", f"{INDENT}{expression}", ")"] if len(INDENT + expression) <= WIDTH else [line]
    return [f"{name} = {before}(", f"{INDENT}{inside}", f"){method}"]
