"""Spark's workers look for garbage among what came after they were loaded; other processes are left as they are."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap.workers import keep_what_is_loaded

CAPTURE = Path(__file__).parent.parent.parent / "data" / "captures" / "unicast_simple.pcap"
LOADED_MIN = 10_000  # objects of Python, pyspark and PyArrow


def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read all rows, and tell what a worker's collector passes over."""
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"rows": [rows], "is_worker": [keep_what_is_loaded()], "frozen": [gc.get_freeze_count()]})


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_worker_passes_over_what_it_has_loaded(spark: Any) -> None:
    frames = spark.read.format("aeron_pcap").load(str(CAPTURE))
    (row,) = frames.mapInArrow(counted, "rows bigint, is_worker boolean, frozen bigint").collect()
    assert (row.rows, row.is_worker) == (50, True)
    assert row.frozen > LOADED_MIN


def test_a_worker_that_reads_has_done_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    from pyspark.sql.types import StringType, StructType

    from aerowire.pcap.spark import source

    called: list[str] = []
    monkeypatch.setattr(source, "keep_what_is_loaded", lambda: called.append("read"))
    reader = source.CaptureReader({"path": str(CAPTURE)}, StructType().add("type", StringType()))
    (part,) = reader.partitions()
    assert sum(batch.num_rows for batch in reader.read(part)) == 50
    assert called == ["read"]


def test_another_process_keeps_its_collector_as_it_is() -> None:
    mine: list[object] = []
    keep_what_is_loaded.cache_clear()
    assert not keep_what_is_loaded()
    # What is hidden from the collector is not among these.
    assert any(each is mine for each in gc.get_objects())
