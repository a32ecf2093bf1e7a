"""Damaged captures of every format: only what is damaged is lost, and it is counted; fail-fast names the file and the place."""

from __future__ import annotations

import gzip
import random
import re
import resource
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap import Capture, CaptureError, Statistics
from tests.soak.bars import Part, Size
from tests.support.captures.corpus import build
from tests.support.captures.damage import Damaged, Written, classic, damage, ng, packets_of, time_ns

FILES = {Size.FULL: 500, Size.SMALL: 100}
SEED = 3
PACKETS = 1000
LIMIT_S = 5.0  # of processor time for one file of some hundred kilobytes
MEMORY_LIMIT = 256 << 20  # bytes that all the files together may add to what the process takes
PIECE = 1024
COLUMNS = [
    "ts_ns",
    "frame_index",
    "type",
    "frame_length",
    "session_id",
    "stream_id",
    "term_id",
    "term_offset",
    "reserved_value",
    "src_port",
]
FixedLengthRows = dict[int, list[tuple[object, ...]]]  # of each record, which its time names
# (writer, byte order)
FORMATS: tuple[tuple[Callable[[list[bytes], str], Written], str], ...] = ((classic, "<"), (classic, ">"), (ng, "<"), (ng, ">"))


class Damages:
    """What is common to all damaged files of a run."""

    def __init__(self, scratch: Path) -> None:
        corpus = build(scratch / "corpus.pcap", PACKETS, SEED)
        self.ports = corpus.ports
        self.packets = packets_of(corpus.path)
        self.path = scratch / "damaged"
        self.path.write_bytes(classic(self.packets, "<").data)
        self.expected = self._rows(Capture(self.path, ports=self.ports, columns=COLUMNS).read())
        self.told: Counter[str] = Counter()

    @staticmethod
    def _rows(table: pa.Table) -> FixedLengthRows:
        """Return the rows of each record, which its time names."""
        rows: FixedLengthRows = {}
        for row in zip(*(table[name].to_pylist() for name in COLUMNS), strict=True):
            rows.setdefault(int(row[0]), []).append(row)
        return rows

    def read(self, rng: random.Random, *, fail_fast: bool = False) -> tuple[FixedLengthRows, Statistics]:
        """Read the damaged file within its limits."""
        started = time.process_time()
        options: dict[str, int] = {"chunk_length": 70_000} if rng.random() < 0.5 else {}
        capture = Capture(self.path, ports=self.ports, columns=COLUMNS, fail_fast=fail_fast, **options)  # type: ignore[arg-type]
        table = capture.read()
        taken = time.process_time() - started
        assert taken < LIMIT_S, f"{taken:.1f} s"
        statistics = capture.statistics
        assert statistics.packets == statistics.datagrams + statistics.skipped.total(), statistics
        assert statistics.frames == table.num_rows
        return self._rows(table), statistics

    def check(self, rng: random.Random, whole: Written, damaged: Damaged) -> None:
        """Hold what is read of a damaged capture to what is left of it."""
        found, statistics = self.read(rng)
        bad = damaged.touched | damaged.beside
        missing = [index for index in range(len(self.packets)) if index not in bad and found.get(time_ns(index), []) != self._of(index)]
        # A copy of a record between records is read, too.
        missing = [index for index in missing if found.get(time_ns(index), [])[: len(self._of(index))] != self._of(index)]
        assert not missing, f"records {missing[:10]} of {len(missing)} are lost; damaged are {sorted(bad)[:20]}; {statistics}"
        invented = [time for time in found if time not in self.expected]
        assert len(invented) <= len(bad), f"{len(invented)} records are invented, such as {invented[:5]}"
        if not whole.is_ng:
            accounted = 24 + 16 * statistics.packets + statistics.captured_bytes + statistics.corrupt_bytes + statistics.truncated_bytes
            assert accounted == len(damaged.data), (accounted, len(damaged.data), statistics)
        self._check_fail_fast(rng, statistics)
        self.told["damage found" if statistics.is_damaged else "not to be seen"] += 1
        self.told["records lost"] += len([index for index in range(len(self.packets)) if time_ns(index) not in found])

    def _of(self, index: int) -> list[tuple[object, ...]]:
        return self.expected.get(time_ns(index), [])

    def _check_fail_fast(self, rng: random.Random, statistics: Statistics) -> None:
        refused = ""
        try:
            self.read(rng, fail_fast=True)
        except CaptureError as error:
            refused = str(error)
        assert bool(refused) is statistics.is_damaged, (refused, statistics)
        assert not refused or re.match(rf"{re.escape(str(self.path))}: .*byte \d+", refused), refused

    def check_prefix(self, rng: random.Random, whole: Written, decompressed: bytes) -> None:
        """Hold what is read of a damaged compressed capture to what can be decompressed of it."""
        found: FixedLengthRows = {}
        statistics = Statistics()
        with suppress(CaptureError):
            found, statistics = self.read(rng)
        if not statistics.packets and decompressed[: whole.bounds[0]] != whole.data[: whole.bounds[0]]:
            return  # not even the file header is left
        same = next((at for at, (one, other) in enumerate(zip(decompressed, whole.data, strict=False)) if one != other), None)
        same = min(len(decompressed), len(whole.data)) if same is None else same
        left = [index for index in range(len(self.packets) - 1) if whole.bounds[index + 2] <= same]
        missing = [index for index in left if found.get(time_ns(index), [])[: len(self._of(index))] != self._of(index)]
        assert not missing, f"records {missing[:10]} of {len(missing)} are lost where {len(left)} can be decompressed; {statistics}"
        self._check_fail_fast(rng, statistics)
        self.told["compressed stream damaged"] += 1


def inflated(data: bytes) -> bytes:
    """Decompress a gzip file byte by byte until it ends or breaks."""
    machine, out = zlib.decompressobj(31), bytearray()
    try:
        for index in range(len(data)):
            out += machine.decompress(data[index : index + 1])
    except zlib.error:
        pass
    return bytes(out)


def unpacked(data: bytes) -> bytes:
    """Decompress a zstd file in small pieces until it ends or breaks; the piece before the damage need not be read."""
    out = bytearray()
    try:
        stream = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
        while piece := stream.read(PIECE):
            out += piece
    except OSError:
        pass
    return bytes(out[: max(0, len(out) - PIECE)])


def run(files: range, scratch: Path) -> str:
    damages = Damages(scratch)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in files:
        rng = random.Random(f"{SEED}:{number}")
        write, order = FORMATS[number % len(FORMATS)]
        whole = write(damages.packets, order)
        wrap = rng.choice(("plain", "plain", "gzip", "zstd", "gzip damaged", "zstd damaged"))
        what = [wrap]
        try:
            if wrap.endswith("damaged"):
                packed = (
                    gzip.compress(whole.data, mtime=0)
                    if wrap.startswith("gzip")
                    else pa.Codec("zstd").compress(bytes(whole.data), asbytes=True)
                )
                packed = _spoiled(rng, packed)
                damages.path.write_bytes(packed)
                damages.check_prefix(rng, whole, inflated(packed) if wrap.startswith("gzip") else unpacked(packed))
            else:
                damaged = damage(rng, whole)
                what += damaged.what
                data = damaged.data
                data = gzip.compress(data) if wrap == "gzip" else pa.Codec("zstd").compress(data, asbytes=True) if wrap == "zstd" else data
                damages.path.write_bytes(data)
                damages.check(rng, whole, damaged)
        except BaseException as error:
            error.add_note(f"file {number} (seed {SEED}), {write.__name__} {order}: {what}")
            raise
        damages.told[write.__name__] += 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < MEMORY_LIMIT, f"{grown >> 20} MiB"
    return ", ".join(f"{name} {count}" for name, count in sorted(damages.told.items()))


def _spoiled(rng: random.Random, data: bytes) -> bytes:
    """Cut a compressed file off, or flip some bits behind its first bytes."""
    if rng.random() < 0.4:
        return data[: rng.randrange(4, len(data))]
    out = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        out[rng.randrange(4, len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def parts(size: Size) -> list[Part]:
    step = 100
    return [Part(f"files-from-{first}", SEED, partial(run, range(first, first + step))) for first in range(0, FILES[size], step)]
