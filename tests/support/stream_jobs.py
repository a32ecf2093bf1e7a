"""A query of Spark over a source that grows, in a process of its own: `python -m tests.support.stream_jobs JSON`.

JSON has `format`, `folder`, `options`, `columns` and `out`, where the query keeps its checkpoint and rows.  Events, one JSON object a line:
`started`; then the query runs until the line "stop" arrives, or until the process is killed.  With `once` it reads what there is, and
`ended` names an Arrow file of all rows that the sink has committed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]


def tell(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def started(spark: Any, of: dict[str, Any]) -> Any:
    """Start the query; with `once` it ends when it has read what there is."""
    out = Path(of["out"])
    frames = spark.readStream.format(of["format"]).options(**of["options"]).load(of["folder"]).select(*of["columns"])
    writer = frames.writeStream.format("parquet").option("checkpointLocation", str(out / "checkpoint"))
    return (writer.trigger(availableNow=True) if of["once"] else writer).start(str(out / "rows"))


def rows_of(spark: Any, of: dict[str, Any]) -> pa.Table:
    """Return all rows that the sink has committed."""
    return spark.read.parquet(str(Path(of["out"]) / "rows")).select(*of["columns"]).toArrow()


def follow(of: dict[str, Any]) -> None:
    """Run the query."""
    from aerowire.pcap.spark import session

    spark = session("stream", master="local[2]", config={"spark.sql.shuffle.partitions": "2"})
    query = started(spark, of)
    tell("started")
    if of["once"]:
        query.awaitTermination()
        rows, path = rows_of(spark, of), str(Path(of["out"]) / "rows.arrow")
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, rows.schema) as arrow:
            arrow.write_table(rows)
        tell("ended", path=path)
    else:
        sys.stdin.readline()
        problem = query.exception()
        query.stop()
        tell("stopped", problem=str(problem) if problem else None)
    spark.stop()


if __name__ == "__main__":
    follow(json.loads(sys.argv[1]))
