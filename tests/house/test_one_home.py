"""A fact of the protocol has one home, spec/: no layout, option, label or code is written again outside what is generated.

A heuristic: hand-written sources are searched for the spellings that such a fact would have. Docstrings and comments may name them.
A constant is one written again if it has a declared one's value and a name made of some of its words, in any order.
"""

from __future__ import annotations

import ast
import io
import operator
import re
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.archive_options import OPTIONS as ARCHIVE_OPTIONS
from aerowire.codecs.tables.cluster_options import OPTIONS as CLUSTER_OPTIONS
from aerowire.codecs.tables.counters import SYSTEM_COUNTER_LABELS
from aerowire.codecs.tables.options import OPTIONS

ROOT = Path(__file__).resolve().parents[2]
HAND_WRITTEN = ("runtime", "conformance", "pcap")

# Ids below this are small integers that stand in code for many other reasons.
DISTINCT_ID = 0x100
COMMAND_IDS = {member.value for member in CommandType if member.value >= DISTINCT_ID}
ALL_OPTIONS = (*OPTIONS.values(), *ARCHIVE_OPTIONS.values(), *CLUSTER_OPTIONS.values())
PROPERTIES = {option.property for option in ALL_OPTIONS} | {option.env for option in ALL_OPTIONS}
LABELS = set(SYSTEM_COUNTER_LABELS.values())

CYTHON_TOKEN = re.compile(
    r"""
    (?P<skip> \#.* | \"{3}(?:.|\n)*?\"{3} )
    | (?P<string> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
    | (?P<number> \b(?:0x[\da-fA-F]+|\d+)\b )
    """,
    re.VERBOSE,
)
# Of a module, a class or a `cdef enum`.
ASSIGNMENT = re.compile(r"^ *(?:cdef (?:\w+ )+)?(?P<names>[A-Z_][A-Z_0-9, ]*)(?::[^=\n]+)?=(?P<values>[^=\n]+)$", re.MULTILINE)
OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow, ast.LShift: operator.lshift}
DECLARED = [
    (set(match[1].split("_")), int(match[2]))
    for path in (ROOT / "generated/aerowire/codecs/native").glob("*.pxd")
    for match in re.finditer(r"^    ([A-Z_0-9]+) = (-?\d+)", path.read_text(), re.MULTILINE)
]
CONSTANTS_IN = (*HAND_WRITTEN, "benchmarks", "examples", "tests/support")
# Equal by chance.
OTHER_CONSTANTS = {
    ("runtime/aerowire/base/properties.py", "_LENGTH_MAX"): "of a file of properties",
    ("pcap/aerowire/pcap/analysis/gathering.py", "KEY_LENGTH"): "of a stream's key in memory: two ids of 32 bits",
}
ANY_PYTHON_TOKEN = (tokenize.STRING, tokenize.NUMBER)


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line number and text of every string and number of a source, docstrings and comments left out."""
    text = path.read_text()
    if path.suffix == ".py":
        yield from python_literals(text)
        return
    for match in CYTHON_TOKEN.finditer(text):
        if match["skip"] is None:
            yield text.count("\n", 0, match.start()) + 1, match.group()


def python_literals(text: str) -> Iterator[tuple[int, str]]:
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        starts_statement = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT)
        if token.type in ANY_PYTHON_TOKEN and not (token.type == tokenize.STRING and starts_statement):
            yield token.start[0], token.string
        before = token.type


def is_second_home(literal: str) -> bool:
    """True for a literal that repeats a command's id, an option's name or a system counter's label."""
    if literal[0].isdigit():
        try:
            return int(literal, 0) in COMMAND_IDS and literal.startswith("0x")
        except ValueError:
            return False
    text = literal.strip("rbfu").strip("\"'")
    return text in PROPERTIES or text in LABELS


@pytest.mark.parametrize("root", HAND_WRITTEN)
def test_no_fact_of_the_specification_is_written_again(root: str) -> None:
    sources = [path for suffix in ("py", "pyx", "pxd") for path in sorted((ROOT / root).rglob(f"*.{suffix}"))]
    found = [
        f"{path.relative_to(ROOT)}:{line}: {literal}" for path in sources for line, literal in literals(path) if is_second_home(literal)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("source", ['x = "aeron.dir"\n', "x = 0x0F03\n", 'label = "NAKs sent"\n'])
@pytest.mark.parametrize("suffix", [".py", ".pyx"])
def test_a_second_home_is_found(tmp_path: Path, source: str, suffix: str) -> None:
    path = tmp_path / f"module{suffix}"
    path.write_text(source)
    assert any(is_second_home(literal) for _, literal in literals(path))


def integer(node: ast.expr) -> int:
    """Return the value of an expression of literal integers. Raises ValueError for another one."""
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub()):
            return -integer(node.operand)
        case ast.BinOp() if type(node.op) in OPERATIONS:
            return int(OPERATIONS[type(node.op)](integer(node.left), integer(node.right)))
    raise ValueError(ast.dump(node))


def constants(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield line number, name and value of every constant that is an integer, in the source of a Python or Cython module."""
    for match in ASSIGNMENT.finditer(text):
        with suppress(SyntaxError, ValueError):
            body = ast.parse(f"[{match['values']}\n]", mode="eval").body
            for name, node in zip(match["names"].split(","), body.elts if isinstance(body, ast.List) else (), strict=False):
                yield text.count("\n", 0, match.start()) + 1, name.strip(), integer(node)


def is_retyped(name: str, value: int) -> bool:
    """True for a constant of two words or more that a declared one of the same value has all of."""
    words = set(name.strip("_").split("_"))
    return len(words) > 1 and any(value == other and words <= of_other for of_other, other in DECLARED)


def test_no_constant_of_the_specification_is_typed_again() -> None:
    found = {
        (str(path.relative_to(ROOT)), name): f"{path.relative_to(ROOT)}:{line}: {name} = {value}"
        for root in CONSTANTS_IN
        for suffix in ("py", "pyx", "pxd")
        for path in (ROOT / root).rglob(f"*.{suffix}")
        for line, name, value in constants(path.read_text())
        if is_retyped(name, value)
    }
    assert not [text for key, text in sorted(found.items()) if key not in OTHER_CONSTANTS]
    assert sorted(found) == sorted(OTHER_CONSTANTS), "an exception that nothing needs"


@pytest.mark.parametrize(
    "source",
    [
        "FRAME_ALIGNMENT = 32\n",
        "TERM_LENGTH_MIN, LIMIT = 64 << 10, 3  # of a term\n",
        "_MESSAGE_LENGTH_MAX: Final[int] = 16 * 2**20\n",
        "cdef enum:\n    HEADER_LENGTH = 0x20\n",
        "cdef int64_t NULL_POSITION = -1\n",
    ],
)
def test_a_constant_that_is_typed_again_is_found(source: str) -> None:
    assert any(is_retyped(name, value) for _, name, value in constants(source))


def test_stubs_leave_values_to_their_modules() -> None:
    stubs = [path for root in HAND_WRITTEN for path in (ROOT / root).rglob("*.pyi")]
    assert len(stubs) > 60
    assert not [str(path.relative_to(ROOT)) for path in stubs if list(constants(path.read_text()))]


@pytest.mark.parametrize("source", ["FRAME_ALIGNMENT = 64\n", "LIMIT = 32\n", "# FRAME_ALIGNMENT = 32\n", "FRAME_ALIGNMENT = ALIGNMENT\n"])
def test_another_constant_is_not_found(source: str) -> None:
    assert not any(is_retyped(name, value) for _, name, value in constants(source))


@pytest.mark.parametrize("source", ['"""aeron.dir is an option."""\n', "# 0x0F03\n", "x = 3\n"])
def test_what_documents_is_not_a_second_home(tmp_path: Path, source: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    assert not any(is_second_home(literal) for _, literal in literals(path))
