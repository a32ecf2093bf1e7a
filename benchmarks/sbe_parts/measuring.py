"""How a codec is measured: the best of several runs, each long enough for the clock; and how the figures are shown."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Decode = Callable[[bytes], object]
Encode = Callable[[], bytes]
Maker = Callable[[], tuple[Decode, Encode]]
Bars = tuple[float | None, float | None]
NO_BARS: Bars = (None, None)
# A run of a codec is many short ones: some of them meet nobody else on a shared machine whose clock changes.
RUN_S = 0.002
IN_A_RUN = 60
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


class Timed:
    """A call, and what it took in the best of the runs so far."""

    def __init__(self, call: Callable[..., object], *arguments: object) -> None:
        names = [f"argument_{place}" for place in range(len(arguments))]
        self._timer = timeit.Timer(f"call({', '.join(names)})", globals={"call": call, **dict(zip(names, arguments, strict=True))})
        self._loops = 1
        while (taken := self._timer.timeit(self._loops)) < RUN_S:
            self._loops = max(self._loops + 1, int(self._loops * 1.2 * RUN_S / max(taken, 1e-9)))
        self.best_ns = taken / self._loops * 1e9

    def run(self) -> None:
        self.best_ns = min(self.best_ns, self._timer.timeit(self._loops) / self._loops * 1e9)


def measured(makers: Mapping[str, Maker], runs: int, bars_ns: Mapping[str, Bars]) -> list[Row]:
    """Measure codecs in turn, so that a busy moment of the machine is not one codec's; but for those whose needs are not there."""
    timed: dict[str, tuple[Timed, Timed]] = {}
    notes: dict[str, str] = {}
    for name, make in makers.items():
        try:
            decode, encode = make()
        except ImportError as error:
            notes[name] = f"not measured: {error}"
        else:
            timed[name] = (Timed(decode, encode()), Timed(encode))
    for _ in range(runs * IN_A_RUN):
        for pair in timed.values():
            for one in pair:
                one.run()
    figures: dict[str, Bars] = {name: (decode.best_ns, encode.best_ns) for name, (decode, encode) in timed.items()}
    rows = []
    for name in makers:
        decode_ns, encode_ns = figures.get(name, NO_BARS)
        rows.append(Row(name, decode_ns, encode_ns, bars_ns.get(name, NO_BARS), notes.get(name, "")))
    return rows


def columns_ns(layout: Any, message: bytes, messages: int, runs: int) -> tuple[float, float]:
    """Return what a message takes of many that are decoded to columns at once, all checks included; and without any, by hand."""
    data = message * messages
    stride = len(message)
    offsets = np.arange(messages, dtype=np.int64) * stride

    def by_hand() -> list[Any]:
        view = layout.view(data, 0, messages, stride)
        return [np.ascontiguousarray(view[name]) for name in view.dtype.names]

    timers = [timeit.Timer(lambda: layout.decode(data, offsets)), timeit.Timer(by_hand)]
    taken = [[timer.timeit(1) for timer in timers] for _ in range(runs + 1)][1:]
    decoded, copied = (min(each) / messages * 1e9 for each in zip(*taken, strict=True))
    return decoded, copied


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
