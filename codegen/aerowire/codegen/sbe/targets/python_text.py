"""Expressions of generated Python, laid out as a formatter would: on one line if it fits, else one item a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from aerowire.codegen.sbe.flyweights.text import INDENT, WIDTH, is_text, pieces


@dataclass(frozen=True)
class Listing:
    """Items between brackets, each with what stands in front of it (`name=`, `"key": `)."""

    opening: str
    items: Sequence[tuple[str, str | Listing]]
    closing: str

    @cached_property
    def on_one_line(self) -> str:
        inner = ", ".join(prefix + (one if isinstance(one, str) else one.on_one_line) for prefix, one in self.items)
        is_single = self.opening == "(" and len(self.items) == 1
        return f"{self.opening}{inner}{',' if is_single else ''}{self.closing}"


def call(function: str, *arguments: str | Listing, **named: str | Listing) -> Listing:
    """A call, or with names as of `Type[...]` anything else with brackets."""
    return Listing(f"{function}(", [*(("", one) for one in arguments), *((f"{name}=", one) for name, one in named.items())], ")")


def names_called(node: str | Listing) -> Iterator[str]:
    """What an expression calls, however deep."""
    if isinstance(node, Listing):
        if node.opening.endswith("("):
            yield node.opening[:-1]
        for _, one in node.items:
            yield from names_called(one)


def row(items: Sequence[str | Listing], brackets: str = "()") -> Listing:
    """A tuple, or a list."""
    return Listing(brackets[0], [("", one) for one in items], brackets[1])


def mapping(items: Sequence[tuple[str, str | Listing]]) -> Listing:
    """A dictionary; keys are expressions."""
    return Listing("{", [(f"{key}: ", one) for key, one in items], "}")


def laid_out(prefix: str, node: str | Listing, suffix: str = "", depth: int = 0) -> str:
    """Return `prefix node suffix`, its first line at a depth of indentation."""
    margin = INDENT * depth
    if isinstance(node, str):
        line = f"{margin}{prefix}{node}{suffix}"
        is_long_text = len(line) > WIDTH and depth and is_text(node)
        return f"\n{margin}".join(pieces(node, f"{margin}{prefix}", suffix)) if is_long_text else line
    line = f"{margin}{prefix}{node.on_one_line}{suffix}"
    if len(line) <= WIDTH or not node.items:
        return line
    inner = [laid_out(before, one, ",", depth + 1) for before, one in node.items]
    return "\n".join([f"{margin}{prefix}{node.opening}", *inner, f"{margin}{node.closing}{suffix}"])
