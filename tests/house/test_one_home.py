"""A fact of the protocol has one home, spec/: no layout, option, label or code is written again outside what is generated.

A heuristic: hand-written sources are searched for the spellings that such a fact would have. Docstrings and comments may name them.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SYSTEM_COUNTER_LABELS
from aerowire.codecs.tables.options import OPTIONS

ROOT = Path(__file__).resolve().parents[2]
HAND_WRITTEN = ("runtime", "conformance", "pcap")

# Ids below this are small integers that stand in code for many other reasons.
DISTINCT_ID = 0x100
COMMAND_IDS = {member.value for member in CommandType if member.value >= DISTINCT_ID}
PROPERTIES = {option.property for option in OPTIONS.values()} | {option.env for option in OPTIONS.values() if option.env}
LABELS = set(SYSTEM_COUNTER_LABELS.values())

CYTHON_TOKEN = re.compile(
    r"""
    (?P<skip> \#.* | \"{3}(?:.|\n)*?\"{3} )
    | (?P<string> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
    | (?P<number> \b(?:0x[\da-fA-F]+|\d+)\b )
    """,
    re.VERBOSE,
)
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


@pytest.mark.parametrize("source", ['"""aeron.dir is an option."""\n', "# 0x0F03\n", "x = 3\n"])
def test_what_documents_is_not_a_second_home(tmp_path: Path, source: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    assert not any(is_second_home(literal) for _, literal in literals(path))
