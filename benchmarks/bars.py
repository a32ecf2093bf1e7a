"""What the scripts that compare print of a figure, and whether it reaches its bar."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TypeVar

S = TypeVar("S", bound=str)  # what a side is called


def medians(rows: Mapping[S, Sequence[float]]) -> dict[S, float]:
    """Return the median of each side's figures."""
    return {side: statistics.median(figures) for side, figures in rows.items()}


def scatter(figures: Sequence[float]) -> str:
    """Return the lowest and the highest of some figures in relation to their median."""
    middle = statistics.median(figures)
    return f"{min(figures) / middle - 1:+.0%} to {max(figures) / middle - 1:+.0%}"


def judge(text: str, figure: float, *, least: float | None = None, most: float | None = None, unit: str = "ratio") -> bool:
    """Print a line with a figure and its bar; return whether it is reached."""
    reached = (least is None or figure >= least) and (most is None or figure <= most)
    bar = f"at most {most:g}" if least is None else f"at least {least:g}"
    print(f"{text}, {unit} {figure:.2f} ({bar})" + ("" if reached else "  MISSED"), flush=True)
    return reached
