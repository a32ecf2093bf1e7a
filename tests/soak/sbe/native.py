"""Compiled codecs of random schemas: they write what the interpreter, data classes and flyweights write, and read and refuse the same."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

from tests.interop.sbe.agreement import Drawn
from tests.interop.sbe.ours import COMPILED_KINDS, KINDS, generated
from tests.soak.bars import Part, Size
from tests.soak.sbe.damage import check

# Each schema is compiled, which takes some seconds; other schemas than those of the bar on damage.
SCHEMAS = {Size.FULL: 12, Size.SMALL: 1}
MESSAGES = {Size.FULL: 60, Size.SMALL: 20}
SEEDS = {Size.FULL: range(500, 505), Size.SMALL: range(500, 501)}


def run(size: Size, seed: int, scratch: Path) -> str:
    told: Counter[str] = Counter()
    for index in range(SCHEMAS[size]):
        folder = scratch / f"schema-{index}"
        folder.mkdir()
        drawn = Drawn.of(seed * 10_000 + index, folder)
        newest = drawn.schema.version
        with generated({newest: drawn.path(newest)}, is_compiled=True) as packages:
            check(drawn, packages[newest], (*KINDS, *COMPILED_KINDS), MESSAGES[size], told)
    assert told["read"]
    assert told["refused"]
    return f"{SCHEMAS[size]} schemas compiled, {told.total()} damaged messages: {told['read']} read alike, {told['refused']} refused by all"


def parts(size: Size) -> list[Part]:
    return [Part(f"seed-{seed}", seed, partial(run, size, seed)) for seed in SEEDS[size]]
