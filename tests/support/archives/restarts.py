"""A stream over an Archive's directory that grows, stopped and started again at random points: the check and its size."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.support.archives.recordings import RecordingWriter, write_catalog

COLUMNS = ("recording_id", "position", "flags", "payload")


def start(spark: Any, folder: Path, out: Path, *, once: bool, **options: str) -> Any:
    frames = spark.readStream.format("aeron_archive").options(**options).load(str(folder))
    writer = frames.writeStream.format("parquet").option("checkpointLocation", str(out / "checkpoint"))
    return (writer.trigger(availableNow=True) if once else writer).start(str(out / "rows"))


def rows(spark: Any, out: Path, *columns: str) -> list[tuple[Any, ...]]:
    table = spark.read.parquet(str(out / "rows")).select(*columns).toArrow()
    return sorted(tuple(row.values()) for row in table.to_pylist())


def check_restarts(spark: Any, folder: Path, seed: int, *, size: int, content: str = "frames") -> None:
    """Let `size` queries follow recordings that grow, each stopped at a random point; assert that each row is there exactly once.

    Half of the queries end by themselves, the others are stopped wherever they are, in the middle of a batch too.
    """
    rng = random.Random(seed)
    directory, out = folder / "archive", folder / "out"
    directory.mkdir()
    writers = [RecordingWriter(directory)]
    for turn in range(size):
        last = turn == size - 1
        if len(writers) < 4 and (turn == 1 or rng.random() < 0.3):
            writers.append(RecordingWriter(directory, len(writers), start=rng.randrange(4) * 4096, initial_term_id=(1 << 31) - 2))
        for writer in writers:
            if writer.stop < 0:
                writer.some(rng, rng.randrange(10, 200))
                writer.stop = writer.position if rng.random() < 0.1 else -1
        write_catalog(directory, writers)
        once = last or turn % 2 == 0
        query = start(spark, directory, out, once=once, content=content, **({"maxBytesPerTrigger": "100k"} if turn % 3 else {}))
        query.awaitTermination(None if once else rng.uniform(0.1, 4))
        assert query.exception() is None, f"seed {seed}, turn {turn}"
        query.stop()
    columns = ("recording_id", "position", "payload") if content == "messages" else COLUMNS
    found = rows(spark, out, *columns)
    expected: list[tuple[Any, ...]] = []
    for writer in writers:
        expected += [(writer.recording_id, *row) for row in (writer.messages if content == "messages" else writer.rows)]
    assert found == sorted(expected), f"seed {seed}: {len(found)} rows, expected {len(expected)}"
