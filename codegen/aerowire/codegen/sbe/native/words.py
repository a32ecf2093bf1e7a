"""Names that Python allows and Cython does not: how a `.pyx` spells them, and how they get their own names back when it is loaded."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable

# What Cython reads as the start of a statement, of a type or of an expression of its own.
WORDS = frozenset(
    {
        "api",
        "bint",
        "by",
        "cdef",
        "char",
        "cimport",
        "complex",
        "const",
        "cpdef",
        "cppclass",
        "ctypedef",
        "cython",
        "DEF",
        "double",
        "ELIF",
        "ELSE",
        "enum",
        "exec",
        "extern",
        "fused",
        "gil",
        "IF",
        "include",
        "inline",
        "long",
        "namespace",
        "new",
        "noexcept",
        "nogil",
        "NULL",
        "packed",
        "print",
        "ptrdiff_t",
        "public",
        "readonly",
        "restrict",
        "short",
        "signed",
        "size_t",
        "sizeof",
        "ssize_t",
        "staticmethod",
        "struct",
        "typeid",
        "typeof",
        "union",
        "unsigned",
        "void",
        "volatile",
    }
)
# No name of a schema starts with an underscore.
PREFIX = "_named_"
_SEEN = re.compile(rf"\b(?:{'|'.join(sorted(WORDS))})\b")


def spelt(name: str) -> str:
    """The name itself, or what stands for it in Cython."""
    return f"{PREFIX}{name}" if name in WORDS else name


def plain(name: str) -> str:
    """The name that something is known by in Python."""
    return name.removeprefix(PREFIX)


def respelt(lines: Iterable[str]) -> list[str]:
    """Python code with each of the names spelt for Cython.

    What is behind a point is asked for by its name: `self.char` becomes `getattr(self, "char")`, `Side.IF` the same.
    """
    text = "\n".join(lines)
    if not _SEEN.search(text):
        return text.split("\n")
    out = [list(line) for line in text.split("\n")]
    before: list[tokenize.TokenInfo] = []
    edits: list[tuple[tuple[int, int], int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string in WORDS:
            if len(before) > 1 and before[-1].string == ".":
                owner = before[-2]
                edits = [edit for edit in edits if edit[0] != owner.start]
                edits.append((owner.start, token.end[1], f'getattr({spelt(owner.string)}, "{token.string}")'))
            else:
                edits.append((token.start, token.end[1], spelt(token.string)))
        before = [*before[-1:], token]
    for (row, column), end, new in reversed(edits):
        out[row - 1][column:end] = new
    return ["".join(line) for line in out]


def given_back(kind: str, names: Iterable[str]) -> list[str]:
    """Lines that rename what a class has under a spelling."""
    return [f'_give_name({spelt(kind)}, "{spelt(name)}", "{name}")' for name in names if name in WORDS]


def class_given_back(name: str) -> list[str]:
    """A line that renames an extension type itself."""
    return [f'globals()["{name}"] = _called({spelt(name)}, "{name}")'] if name in WORDS else []
