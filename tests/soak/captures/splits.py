"""Captures cut anywhere: each record is read once, by the part that holds its first byte, whatever packets hold."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_left
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap import Capture
from aerowire.pcap.files.boundaries import find_boundary
from aerowire.pcap.files.formats import FILE_HEADER_LENGTH, ClassicHeader
from aerowire.pcap.files.places import Extent, Place
from tests.soak.bars import Part, Size
from tests.support.captures.corpus import build
from tests.support.captures.damage import packets_of
from tests.support.captures.nested import nested
from tests.support.captures.parts import batches_of, by_index, by_themselves
from tests.support.spark.sessions import need_spark, session_of_process

SEED = 11
CUTS = {Size.FULL: 100, Size.SMALL: 30}  # of each file
FILES = {Size.FULL: 10, Size.SMALL: 1}
LENGTHS = {Size.FULL: 70 << 20, Size.SMALL: 6 << 20}  # of the file that Spark reads
SPLITS = {Size.FULL: (1, 2, 7, 64), Size.SMALL: (2, 5)}
FILE_LENGTH = 4 << 20
OWN = 3000  # packets of Aeron
COLUMNS = ["ts_ns", "frame_index", "type", "term_offset", "reserved_value", "src_port", "packet_index"]


def made(rng: random.Random, scratch: Path, length: int) -> tuple[Path, list[int], list[int]]:
    """Write a nested capture; return it with its ports and the offsets of its records."""
    corpus = build(scratch / "own.pcap", OWN, SEED)
    path = scratch / "nested.pcap"
    return path, corpus.ports, nested(rng, path, packets_of(corpus.path), length)


def cut_anywhere(size: Size, number: int, scratch: Path) -> str:
    """Find the records at random cuts; read the parts between them."""
    rng = random.Random(f"{SEED}:{number}")
    path, ports, offsets = made(rng, scratch, FILE_LENGTH)
    length = offsets[-1]
    cuts = sorted(rng.sample(range(24, length), CUTS[size]))
    found, wrong = [], []
    with path.open("rb") as file:
        header = ClassicHeader.parse(file.read(FILE_HEADER_LENGTH), str(path))
        for cut in cuts:
            place = find_boundary(file, cut, header, length)
            found.append(place)
            if place != offsets[bisect_left(offsets, cut)]:
                wrong.append(cut)
    assert not wrong, f"seed {SEED}, file {number}: {len(wrong)} of {len(cuts)} cuts, such as {wrong[:5]}"
    capture = Capture(path, ports=ports, columns=COLUMNS)
    whole = capture.read().replace_schema_metadata(None)
    assert whole.num_rows
    bounds = sorted({24, *found, length})
    resynced = [Extent(Place(start, None), end) for start, end in itertools.pairwise(bounds)]
    for extents in (resynced, by_index(path, length // 4), by_themselves(path, length // 37)):
        parts = pa.Table.from_batches(list(batches_of(capture, extents)), whole.schema)
        unknown = ["packet_index"] if extents[-1].start.packet_index is None else []
        assert parts.drop_columns(unknown).equals(whole.drop_columns(unknown)), f"seed {SEED}, file {number}: {len(extents)} parts"
    return f"{len(cuts)} cuts and {len(bounds) - 1} parts of {len(offsets) - 1} records right"


def with_spark(size: Size, scratch: Path) -> str:
    """Read one file in several numbers of parts, with Spark."""
    need_spark()
    path, ports, offsets = made(random.Random(SEED), scratch, LENGTHS[size])
    order = [("ts_ns", "ascending"), ("frame_index", "ascending")]
    by_ports, by_flows = (Capture(path, ports=given, columns=COLUMNS).read().replace_schema_metadata(None) for given in (ports, None))
    with session_of_process("splits") as spark:
        for splits in SPLITS[size]:
            _check(spark, path, {"splitSize": str(-(-offsets[-1] // splits))}, splits, by_flows.sort_by(order), order)
            by_themselves = ",".join(name for name in COLUMNS if name != "packet_index")
            options = {"splitSize": str(-(-offsets[-1] // splits)), "columns": by_themselves, "ports": ",".join(map(str, ports))}
            _check(spark, path, options, splits, by_ports.drop_columns(["packet_index"]).sort_by(order), order)
    return f"{offsets[-1] >> 20} MiB in {', '.join(map(str, SPLITS[size]))} parts: the same {by_ports.num_rows} rows"


def _check(spark: Any, path: Path, options: dict[str, str], splits: int, expected: pa.Table, order: list[tuple[str, str]]) -> None:
    frame = spark.read.format("aeron_pcap").options(**options).load(str(path)).select(*expected.column_names)
    assert frame.rdd.getNumPartitions() == splits, (frame.rdd.getNumPartitions(), options)
    found = frame.toArrow().replace_schema_metadata(None).sort_by(order)
    assert found.cast(expected.schema).equals(expected), options


def parts(size: Size) -> list[Part]:
    cuts = [Part(f"cut-anywhere-{number}", SEED, partial(cut_anywhere, size, number)) for number in range(FILES[size])]
    return [*cuts, Part("spark", SEED, partial(with_spark, size))]
