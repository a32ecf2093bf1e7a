"""Drawings of numbers over time as SVG that stands in a page of its own: lines, bands, marks, bars.  It knows nothing of captures."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
WIDTH, HEIGHT = 960, 240
LEFT, RIGHT, TOP, BOTTOM = 86, 34, 12, 34
POINTS_MAX = 1500  # of a line: more than a screen has columns
TICKS = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers along one side. Invariant: low < high.  is_logarithm: the numbers are powers of ten, and only whole ones are named."""

    low: float
    high: float
    name: str
    show: Callable[[float], str]
    is_logarithm: bool = False

    @classmethod
    def around(cls, values: Iterable[Numbers], name: str, show: Callable[[float], str], *, from_zero: bool = False) -> Axis:
        """Return an axis that holds all values."""
        filled = [part for part in values if part.size]
        low = 0.0 if from_zero or not filled else float(min(part.min() for part in filled))
        high = float(max(part.max() for part in filled)) if filled else 1.0
        # Far from zero the next number may be more than one away.
        return cls(low, high if high > low else max(low + 1, math.nextafter(low, math.inf)), name, show)

    def ticks(self) -> list[float]:
        """Return round numbers within the axis."""
        rough = (self.high - self.low) / TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        step = max(step, 1.0) if self.is_logarithm else step
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(slots=True)
class Plot:
    """One drawing; what is added later lies above."""

    title: str
    x: Axis
    y: Axis
    _parts: list[str] = field(default_factory=list)
    _legend: list[tuple[str, str]] = field(default_factory=list)

    def line(self, xs: Numbers, ys: Numbers, kind: str, label: str) -> None:
        """Add a line; of very many points the least and greatest of each stretch."""
        xs, ys = thinned(xs, ys)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(self._across(xs).tolist(), self._up(ys).tolist(), strict=True))
        self._parts.append(f'<polyline class="{kind}" points="{points}"/>')
        self._legend.append((kind, label))

    def steps(self, xs: Numbers, ys: Numbers, kind: str, label: str) -> None:
        """Add a line that keeps each value until the next one."""
        self.line(np.repeat(xs, 2)[1:], np.repeat(ys, 2)[:-1], kind, label)

    def ranges(self, marks: Sequence[tuple[float, float, float, float, str]], kind: str, label: str) -> None:
        """Add rectangles (from x, to x, from y, to y), each with a text that shows when it is pointed at."""
        for left, right, low, high, text in marks:
            x, to = self._across(np.array([left, right]))
            top, bottom = self._up(np.array([high, low]))
            size = f'width="{max(to - x, 1.5):.1f}" height="{max(bottom - top, 1.5):.1f}"'
            self._parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{top:.1f}" {size}><title>{html.escape(text)}</title></rect>')
        if marks:
            self._legend.append((kind, label))

    def bars(self, edges: Numbers, heights: Numbers, kind: str, label: str) -> None:
        """Add bars between edges, of which there is one more."""
        shown = [(edges[at], edges[at + 1], 0.0, heights[at], self.y.show(float(heights[at]))) for at in np.flatnonzero(heights).tolist()]
        self.ranges(shown, kind, label)

    def svg(self) -> str:
        """Return the drawing, with its axes and what its colours mean."""
        grid = "".join(self._grid())
        legend = "".join(
            f'<g transform="translate({LEFT + 170 * at},{HEIGHT - 4})"><rect class="{kind} key" y="-9" width="14" height="9"/>'
            f'<text x="20">{html.escape(label)}</text></g>'
            for at, (kind, label) in enumerate(self._legend)
        )
        label = html.escape(f"{self.title}: {self.y.name} over {self.x.name}")
        return (
            f"<figure><figcaption>{html.escape(self.title)}</figcaption>"
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 4}" role="img" aria-label="{label}">'
            f"{grid}{''.join(self._parts)}{legend}</svg></figure>"
        )

    def _grid(self) -> Iterable[str]:
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        for value in self.y.ticks():
            (y,) = self._up(np.array([value]))
            yield f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{html.escape(self.y.show(value))}</text>'
        for value in self.x.ticks():
            (x,) = self._across(np.array([value]))
            yield f'<text class="tick" x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{html.escape(self.x.show(value))}</text>'
        yield f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>'

    def _across(self, xs: Numbers) -> Numbers:
        return LEFT + (xs - self.x.low) / (self.x.high - self.x.low) * (WIDTH - LEFT - RIGHT)

    def _up(self, ys: Numbers) -> Numbers:
        return HEIGHT - BOTTOM - (ys - self.y.low) / (self.y.high - self.y.low) * (HEIGHT - TOP - BOTTOM)


def thinned(xs: Numbers, ys: Numbers) -> tuple[Numbers, Numbers]:
    """Return the points of a line, of very many of them the least and greatest of each stretch, so that no peak is lost."""
    if xs.size <= POINTS_MAX:
        return xs, ys
    chosen = []
    for part in np.array_split(np.arange(xs.size), POINTS_MAX // 2):
        chosen += sorted({int(part[ys[part].argmin()]), int(part[ys[part].argmax()])})
    return xs[chosen], ys[chosen]


def seconds(value: float) -> str:
    """Return a time as people read it."""
    if not value:
        return "0"
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= factor:
            return f"{value / factor:g} {unit}" if value / factor < 1e6 else f"{value / factor:,.0f} {unit}"
    return f"{round(value * 1e9, 3):g} ns"


def octets(value: float) -> str:
    """Return a number of bytes as people read it."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:g} {unit}"
    return f"{value:g} B"
