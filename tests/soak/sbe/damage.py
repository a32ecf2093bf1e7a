"""Damaged messages of random schemas: interpreter, data classes and flyweights refuse the same ones, and read the same of the rest."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from aerowire.codegen.sbe.interpreter import MessageError
from tests.interop.sbe.agreement import Drawn, explained
from tests.interop.sbe.ours import KINDS, Codec, Package, Read, generated
from tests.soak.bars import Part, Size

Kinds = Sequence[Callable[[Package], Codec]]
# Each part draws so many schemas; of each so many messages are damaged so many times.
SCHEMAS = {Size.FULL: 150, Size.SMALL: 2}
MESSAGES = {Size.FULL: 12, Size.SMALL: 4}
DAMAGES = 12
SEEDS = {Size.FULL: range(10), Size.SMALL: range(1)}
# Of processor time: a count of 65,535 entries that take no bytes is the most that a small message can ask for.
LIMIT_S = 10.0


def run(size: Size, seed: int, scratch: Path) -> str:
    told: Counter[str] = Counter()
    for index in range(SCHEMAS[size]):
        folder = scratch / f"schema-{index}"
        folder.mkdir()
        drawn = Drawn.of(seed * 10_000 + index, folder)
        newest = drawn.schema.version
        with generated({newest: drawn.path(newest)}) as packages:
            check(drawn, packages[newest], KINDS, MESSAGES[size], told)
    assert told["read"]
    assert told["refused"]
    return f"{told.total()} damaged messages: {told['read']} read alike, {told['refused']} refused by all"


def check(drawn: Drawn, package: Package, kinds: Kinds, messages: int, told: Counter[str]) -> None:
    """Write messages of one schema, and damage them: codecs of all kinds make the same of values and of bytes."""
    codecs = [kind(package) for kind in kinds]
    random = Random(drawn.seed)
    for block, values in drawn.values(drawn.schema.version, messages):
        whole = codecs[0].encode(block.name, values)
        with explained(drawn, message=block.name, values=values):
            for codec in codecs:
                assert codec.encode(block.name, values) == whole, codec.name
        for _ in range(DAMAGES):
            data = damaged(random, whole)
            with explained(drawn, message=block.name, bytes=data):
                results = [outcome(codec, package, data) for codec in codecs]
                assert all(one == results[0] for one in results), results
            told["refused" if results[0] is None else "read"] += 1


def damaged(random: Random, whole: bytes) -> bytes:
    """Cut a message off, lengthen it, or change some of its bytes, most often those near its start."""
    data = bytearray(whole)
    kind = random.randrange(4)
    if kind == 0:
        return bytes(data[: random.randrange(len(data) + 1)])
    if kind == 1:
        data += random.randbytes(random.randint(1, 20))
    for _ in range(random.randint(1, 3)):
        data[random.randrange(min(len(data), random.choice((16, 40, len(data)))))] = random.choice((0, 255, 1, random.randrange(256)))
    return bytes(data)


def outcome(codec: Codec, package: Package, data: bytes) -> Any:
    """What was read, in a form that compares; None when it was refused."""
    start = time.process_time()
    try:
        read: Read | None = codec.decode(data)
    except (MessageError, package.module.SbeError):
        read = None
    taken = time.process_time() - start
    assert taken < LIMIT_S, f"{codec.name} took {taken:.1f} s"
    return None if read is None else (read.message, _plain(read.values))


def _plain(value: Any) -> Any:
    """Every number as a number, whatever class it has; NaNs are all alike."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return "nan" if value != value else value.hex()  # noqa: PLR0124
    return int(value) if isinstance(value, int) else value


def parts(size: Size) -> list[Part]:
    return [Part(f"seed-{seed}", seed, partial(run, size, seed)) for seed in SEEDS[size]]
