#!/usr/bin/env python3
"""Generated SBE codecs beside `struct`, `ctypes`, protobuf and PyPI's sbe in one run: one message, decoded whole and encoded.

    python benchmarks/sbe_codecs.py
    python benchmarks/sbe_codecs.py --runs 9 --json

The message has eight fields, a group of three entries of two fields each, and sixteen bytes of data (sbe_parts/trade.xml). What is not
installed is left out, and the table says so: `pip install -e .[bench]` brings protobuf and sbe. Below it, what columns, generating and
importing take. Exit 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.sbe_parts.generated import Generated
from benchmarks.sbe_parts.large import generating_s, importing_ms
from benchmarks.sbe_parts.measuring import Bars, columns_ns, measured, table
from benchmarks.sbe_parts.rivals import RIVALS, fused_struct

RUNS = 7
COLUMN_MESSAGES = 1_000_000
# What the project asks of itself: decoding, encoding.
CODEC_BARS_NS: dict[str, Bars] = {
    "aerowire, data class": (1_000.0, 1_400.0),
    "aerowire, properties": (2_500.0, None),
    "aerowire, native": (400.0, 400.0),
}


@dataclass(frozen=True)
class Figure:
    """Something measured once, and what is asked of it."""

    name: str
    value: float
    unit: str
    bar: float | None = None

    @property
    def is_missed(self) -> bool:
        return self.bar is not None and self.value > self.bar

    def __str__(self) -> str:
        asked = "" if self.bar is None else f"  (bar {self.bar:g} {self.unit})"
        return f"{self.name:52} {self.value:8.2f} {self.unit}{asked}"


def main() -> int:
    """Measure in turn, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of which the best is taken (default: {RUNS})")
    parser.add_argument("--json", action="store_true", help="print the figures as a JSON object")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sbe-codecs-") as name:
        folder = Path(name)
        generated = Generated(folder)
        rows = measured({**generated.makers(), **RIVALS}, chosen.runs, CODEC_BARS_NS)
        figures = measure_figures(generated, folder / "large", chosen.runs)
    missed = [row.name for row in rows if row.is_missed] + [figure.name for figure in figures if figure.is_missed]
    if chosen.json:
        found = {row.name: {"decode_ns": row.decode_ns, "encode_ns": row.encode_ns} for row in rows}
        print(json.dumps({**found, **{one.name: one.value for one in figures}, "missed": missed}, indent=2))
    else:
        print(table(rows), *figures, f"missed: {', '.join(missed)}" if missed else "every bar is met", sep="\n")
    return 1 if missed else 0


def measure_figures(generated: Generated, folder: Path, runs: int) -> list[Figure]:
    """What is not a codec of one message: columns of many, generating, importing."""
    tick = generated.tick(fused_struct()[1]())
    columns, by_hand = columns_ns(generated.columns(), tick, COLUMN_MESSAGES, runs)
    generating = generating_s(folder)
    importing, using = importing_ms(folder, runs)
    return [
        Figure("NumPy columns of a message of eight fields", columns, "ns", 20),
        Figure("the same unchecked, a copy of each column by hand", by_hand, "ns"),
        Figure("generating from a schema of 350 KB", generating, "s", 3),
        Figure("importing the package of its 100 messages", importing, "ms", 60),
        Figure("importing it and using every class of it", using, "ms"),
    ]


if __name__ == "__main__":
    sys.exit(main())
