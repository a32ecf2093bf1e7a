"""What a bar is: parts that run one after another, each with its seed, each ending in a line of what was measured.

A part raises AssertionError when the bar is missed.  `make soak` runs the parts at full size (run.py), `make test` the
same code at a size that fits (test_bars.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Size(Enum):
    """How much of a bar to run."""

    FULL = "full"
    SMALL = "small"


@dataclass(frozen=True)
class Part:
    """One piece of a bar; `run(scratch)` returns what was measured, in one line."""

    name: str
    seed: int
    run: Callable[[Path], str]


Bar = Callable[[Size], list[Part]]
