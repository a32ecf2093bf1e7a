"""How a codec is measured: the best of several runs, each long enough for the clock; and how the figures are shown."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Decode = Callable[[bytes], object]
Encode = Callable[[], bytes]
Maker = Callable[[], tuple[Decode, Encode]]
Bars = tuple[float | None, float | None]
NO_BARS: Bars = (None, None)
# What a run takes at least.
RUN_S = 0.05
REFERENCE = "struct, cached"


@dataclass(frozen=True)
class Row:
    """Figures of one codec in ns (None where there is none, `note` then says why) and what is asked of them."""

    name: str
    decode_ns: float | None
    encode_ns: float | None
    bars_ns: Bars = NO_BARS
    note: str = ""

    @property
    def is_missed(self) -> bool:
        pairs = zip((self.decode_ns, self.encode_ns), self.bars_ns, strict=True)
        return any(bar is not None and (figure is None or figure > bar) for figure, bar in pairs)


def best_ns(call: Callable[[], object], runs: int) -> float:
    """Return what a call takes when nothing else is in its way."""
    timer = timeit.Timer(call)
    loops = 1
    while (taken := timer.timeit(loops)) < RUN_S:
        loops = max(loops + 1, int(loops * 1.2 * RUN_S / max(taken, 1e-9)))
    return min(timer.repeat(runs, loops)) / loops * 1e9


def measured(name: str, make: Maker, runs: int, bars_ns: Bars) -> Row:
    """Measure one codec, unless what it needs is not there."""
    try:
        decode, encode = make()
    except ImportError as error:
        return Row(name, None, None, bars_ns, f"not measured: {error}")
    data = encode()
    return Row(name, best_ns(lambda: decode(data), runs), best_ns(encode, runs), bars_ns)


def columns_ns(layout: Any, message: bytes, messages: int, runs: int) -> float:
    """Return what a message takes of many that are decoded to columns at once; all checks are part of it."""
    data = message * messages
    offsets = np.arange(messages, dtype=np.int64) * len(message)
    layout.decode(data, offsets)
    timer = timeit.Timer(lambda: layout.decode(data, offsets))
    return min(timer.repeat(runs, 1)) / messages * 1e9


def table(rows: list[Row]) -> str:
    """Lay the rows out, each with how many times as long it takes as hand-written `struct` code."""
    reference = next(row for row in rows if row.name == REFERENCE)
    lines = [f"{'':24} {'decode ns':>10} {'ratio':>6} {'bar':>7} {'encode ns':>10} {'ratio':>6} {'bar':>7}"]
    for row in rows:
        cells = [
            _cells(figure, unit, bar)
            for figure, unit, bar in zip(
                (row.decode_ns, row.encode_ns), (reference.decode_ns, reference.encode_ns), row.bars_ns, strict=True
            )
        ]
        lines.append(f"{row.name:24} {' '.join(cells)}  {row.note}".rstrip())
    return "\n".join(lines)


def _cells(figure: float | None, unit: float | None, bar: float | None) -> str:
    ratio = f"{figure / unit:.2f}" if figure is not None and unit else "-"
    return f"{'-' if figure is None else f'{figure:,.0f}':>10} {ratio:>6} {'' if bar is None else f'{bar:,.0f}':>7}"
