"""Queries of Spark over captures and recordings that grow, ended at random points and started again: each frame exactly once.

Every query is a process of its own.  It is stopped as a user would, or its Java, its Python or both are killed wherever they are.  At small
size one process has a query of captures and one of recordings, and the last ones, which read the rest, run in the session of this process.
"""

from __future__ import annotations

import itertools
import json
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from os import kill
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap import read_frames
from tests.soak.bars import Part, Size
from tests.support.archives.recordings import RecordingWriter, write_catalog
from tests.support.captures.corpus import build
from tests.support.captures.flow import write_flow
from tests.support.proc import command_of, descendants, is_running
from tests.support.processes import Process, Workshop, open_workshop
from tests.support.spark import stream_jobs
from tests.support.spark.sessions import need_spark, session_of_process
from tests.support.waiting import wait_until

SEED = 31
RESTARTS = {Size.FULL: 20, Size.SMALL: 1}
WAYS = ("kill java", "kill python", "stop", "kill all")
CAPTURE_BYTES = {Size.FULL: 20 << 20, Size.SMALL: 2 << 20}
CORPUS_PACKETS = {Size.FULL: 50_000, Size.SMALL: 5_000}
MESSAGES_MAX = 200  # that a recording grows by at a time
PIECES = 20  # that a capture grows by while one query runs, about
LIMIT_S = 240.0
BATCHES_MAX = 4  # that a query may begin before it is ended
DELAY_S = 0.5  # about what half a batch takes
GROWS_S = 1.0  # a source grows whenever a batch has begun, and after so long; the waits get longer, so that a slow query finds some left
LOOK_S = 0.01


class Source(Protocol):
    """What grows, and what there is of it."""

    format: str
    ways: tuple[str, ...]
    columns: tuple[str, ...]
    order: tuple[str, ...]

    def options(self) -> dict[str, str]: ...
    def limits(self, rng: random.Random) -> dict[str, str]: ...
    def grow(self, rng: random.Random, turn: int) -> None: ...
    def is_whole(self) -> bool: ...
    def finish(self) -> None: ...
    def expected(self) -> pa.Table: ...


class Captures:
    """A folder of captures that are appended to anywhere, in the middle of a record too; they appear one after another."""

    format = "aeron_pcap"
    ways: tuple[str, ...] = WAYS
    columns: tuple[str, ...] = ("path", "record_position", "frame_index", "packet_index", "ts_ns", "type", "term_offset", "payload")
    order: tuple[str, ...] = columns[:3]

    def __init__(self, folder: Path, size: Size) -> None:
        self.folder, self.turns = folder, RESTARTS[size]
        whole = folder.with_name("whole")
        whole.mkdir()
        corpus = build(whole / "b.pcap", CORPUS_PACKETS[size], SEED)
        flows = [write_flow(whole / name, CAPTURE_BYTES[size], SEED, enhanced=name == "c.pcapng") for name in ("a.pcap", "c.pcapng")]
        self.ports = sorted({*corpus.ports, *flows[0].ports})
        self.data = {path.name: path.read_bytes() for path in sorted(whole.iterdir())}
        self.written = dict.fromkeys(self.data, 0)

    def options(self) -> dict[str, str]:
        return {"ports": ",".join(map(str, self.ports)), "columns": ",".join(self.columns), "splitSize": "100k"}

    def limits(self, rng: random.Random) -> dict[str, str]:
        choices: list[dict[str, str]] = [{}, {"maxBytesPerTrigger": "100k"}, {"maxFilesPerTrigger": "1"}]
        return rng.choice(choices)

    def grow(self, rng: random.Random, turn: int) -> None:
        for number, (name, data) in enumerate(self.data.items()):
            if turn >= number * self.turns // (2 * len(self.data)):
                piece = 1 + 2 * len(data) // (self.turns * PIECES)
                self._append(name, min(len(data), self.written[name] + rng.randint(1, piece)))

    def is_whole(self) -> bool:
        return all(self.written[name] == len(data) for name, data in self.data.items())

    def finish(self) -> None:
        for name, data in self.data.items():
            self._append(name, len(data))

    def _append(self, name: str, end: int) -> None:
        if end > self.written[name]:
            with (self.folder / name).open("ab") as file:
                file.write(self.data[name][self.written[name] : end])
            self.written[name] = end

    def expected(self) -> pa.Table:
        tables = [read_frames(path, ports=self.ports, columns=self.columns) for path in sorted(self.folder.iterdir())]
        return pa.concat_tables([table.replace_schema_metadata(None) for table in tables])


class Recordings:
    """A directory of an Archive with recordings that grow frame by frame; some stop, others begin."""

    format = "aeron_archive"
    ways: tuple[str, ...] = (*WAYS[1:], WAYS[0])
    columns: tuple[str, ...] = ("recording_id", "position", "flags", "payload")
    order: tuple[str, ...] = columns[:2]

    def __init__(self, folder: Path, size: Size) -> None:
        self.folder, self.turns = folder, RESTARTS[size]
        self.writers = [RecordingWriter(folder)]
        write_catalog(folder, self.writers)

    def options(self) -> dict[str, str]:
        return {}

    def limits(self, rng: random.Random) -> dict[str, str]:
        choices: list[dict[str, str]] = [{}, {"maxBytesPerTrigger": "100k"}]
        return rng.choice(choices)

    def grow(self, rng: random.Random, turn: int) -> None:
        if len(self.writers) < min(4, turn + 1):
            self.writers.append(RecordingWriter(self.folder, len(self.writers), start=4096, initial_term_id=(1 << 31) - 2))
        for writer in self.writers:
            if writer.stop < 0:
                writer.some(rng, rng.randrange(1, MESSAGES_MAX))
        if turn > self.turns // 2 and self.writers[0].stop < 0:
            self.writers[0].stop = self.writers[0].position
        write_catalog(self.folder, self.writers)

    def is_whole(self) -> bool:
        return False

    def finish(self) -> None:
        write_catalog(self.folder, self.writers)

    def expected(self) -> pa.Table:
        rows = [(writer.recording_id, *row) for writer in self.writers for row in writer.rows]
        return pa.table({name: list(values) for name, values in zip(self.columns, zip(*rows, strict=True), strict=True)})


@dataclass
class Query:
    """What all of a source's queries have in common, and where the next one stands in its checkpoint."""

    source: Source
    folder: Path
    out: Path

    def read_rest(self, workshop: Workshop) -> pa.Table:
        """Read what is left in a process of its own; return all rows."""
        process = start(workshop, self.job(self.source.options(), once=True))
        ended = process.event("ended", LIMIT_S)
        assert process.finish() == 0, process.said()
        with pa.memory_map(ended["path"]) as file:
            return pa.ipc.open_file(file).read_all()

    def read_rest_here(self) -> pa.Table:
        """Read what is left in this process; return all rows."""
        job = self.job(self.source.options(), once=True)
        with session_of_process("stream") as spark:
            stream_jobs.started(spark, job).awaitTermination()
            return stream_jobs.rows_of(spark, job)

    def job(self, options: dict[str, str], *, once: bool = False) -> dict[str, Any]:
        of = {"format": self.source.format, "folder": str(self.folder), "columns": self.source.columns, "options": options}
        return {**of, "out": str(self.out), "once": once}

    def batches(self, log: str) -> int:
        """Return how many batches have begun ("offsets") or have ended ("commits")."""
        return sum(1 for entry in (self.out / "checkpoint" / log).glob("*") if entry.name.isdigit())


def start(workshop: Workshop, *jobs: dict[str, Any]) -> Process:
    """Start a process with these queries."""
    return workshop.start("query", [sys.executable, "-m", "tests.support.spark.stream_jobs", json.dumps(jobs)])


def run(makes: Sequence[Callable[[Path, Size], Source]], size: Size, scratch: Path) -> str:
    """Let sources grow under queries that are ended at random points; compare what each sink has in the end."""
    need_spark()
    rng = random.Random(SEED)
    queries = [made(make, size, scratch / f"{number}") for number, make in enumerate(makes)]
    ends: dict[str, int] = {}
    interrupted = 0
    with open_workshop(scratch) as workshop:
        for turn, way in zip(range(RESTARTS[size]), itertools.cycle(queries[0].source.ways)):
            jobs = [query.job({**query.source.options(), **query.source.limits(rng)}) for query in queries]
            process = start(workshop, *jobs)
            process.event("started", LIMIT_S)
            for query in queries:
                let_grow(query, process, rng, turn)
            end(process, way)
            ends[way] = ends.get(way, 0) + 1
            interrupted += any(query.batches("offsets") > query.batches("commits") for query in queries)
        frames = sum(check_rest(query, workshop, size) for query in queries)
    assert interrupted or size is Size.SMALL, "no query was ended in the middle of a batch"
    said = ", ".join(f"{count} x {way}" for way, count in ends.items())
    batches = sum(query.batches("commits") for query in queries)
    return f"{frames:,} frames once each over {batches} batches; {said}, {interrupted} in the middle of a batch"


def made(make: Callable[[Path, Size], Source], size: Size, scratch: Path) -> Query:
    """Make a source that has nothing yet, and the query over it."""
    folder = scratch / "growing"
    folder.mkdir(parents=True)
    return Query(make(folder, size), folder, scratch / "out")


def check_rest(query: Query, workshop: Workshop, size: Size) -> int:
    """Let the source have everything, and read the rest; return how many rows there are, each exactly once."""
    source = query.source
    source.finish()
    rows = query.read_rest_here() if size is Size.SMALL else query.read_rest(workshop)
    order = [(name, "ascending") for name in source.order]
    found = rows.replace_schema_metadata(None).sort_by(order)
    expected = source.expected().sort_by(order)
    assert found.num_rows == expected.num_rows, f"seed {SEED}: {found.num_rows} rows, expected {expected.num_rows}"
    assert found.cast(expected.schema).equals(expected), f"seed {SEED}: as many rows as expected, but others"
    return int(expected.num_rows)


def let_grow(query: Query, process: Process, rng: random.Random, turn: int) -> None:
    """Let the source grow until the query has begun some more batches, and for a moment longer."""
    begun = query.batches("offsets")
    goal, deadline, grows, wait_s = begun + rng.randint(0, BATCHES_MAX), time.monotonic() + LIMIT_S, 0.0, GROWS_S
    while True:
        before, begun = begun, query.batches("offsets")
        # A source that is whole has no more batches to offer; a slow machine may come to its end before the goal.
        if begun >= goal or query.source.is_whole():
            break
        if begun > before or time.monotonic() >= grows:
            wait_s = GROWS_S if begun > before else 2 * wait_s
            query.source.grow(rng, turn)
            grows = time.monotonic() + wait_s
        assert process.popen.poll() is None, process.said()
        assert time.monotonic() < deadline, f"seed {SEED}, turn {turn}: {begun} batches, expected {goal}\n{process.said()}"
        time.sleep(LOOK_S)
    time.sleep(rng.uniform(0, DELAY_S))


def end(process: Process, way: str) -> None:
    """End a query in some way, and everything that it has started."""
    own = process.popen.pid
    started = descendants(own)
    if way == "stop":
        assert process.popen.stdin is not None
        process.popen.stdin.write(b"stop\n")
        process.popen.stdin.flush()
        stopped = process.event("stopped", LIMIT_S)
        assert stopped["problem"] is None, stopped["problem"]
        assert process.finish() == 0, process.said()
    else:
        java = [pid for pid in started if command_of(pid).split("\0")[0].endswith("java")]
        assert java, f"no Java among {started}"
        for pid in {"kill java": java, "kill python": [own], "kill all": [own, *java]}[way]:
            kill(pid, signal.SIGKILL)
    for pid in _running([own, *started]):  # nothing may go on to write while the next query reads
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)
    process.popen.wait()
    wait_until(lambda: not list(_running(started)), "a query's processes did not end")


def _running(pids: list[int]) -> Iterator[int]:
    return (pid for pid in pids if is_running(pid))


def parts(size: Size) -> list[Part]:
    if size is Size.SMALL:
        return [Part("captures-and-recordings", SEED, partial(run, [Captures, Recordings], size))]
    return [Part("captures", SEED, partial(run, [Captures], size)), Part("recordings", SEED, partial(run, [Recordings], size))]
