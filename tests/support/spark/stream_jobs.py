"""Queries of Spark over sources that grow, in a process of its own: `python -m tests.support.spark.stream_jobs JSON`.

JSON is a list of queries. Each has `format`, `folder`, `options`, `columns` and `out`, where it keeps its checkpoint and rows.  Events, one
JSON object a line: `started`; then the queries run until the line "stop" arrives, or until the process is killed.  A query with `once`, the
only one of its process, reads what there is, and `ended` names an Arrow file of all rows that the sink has committed.
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


def follow(jobs: list[dict[str, Any]]) -> None:
    """Run the queries."""
    from aerowire.pcap.spark import session

    spark = session("stream", master="local[2]", config={"spark.sql.shuffle.partitions": "2"})
    queries = [started(spark, of) for of in jobs]
    tell("started")
    if jobs[0]["once"]:
        queries[0].awaitTermination()
        rows, path = rows_of(spark, jobs[0]), str(Path(jobs[0]["out"]) / "rows.arrow")
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, rows.schema) as arrow:
            arrow.write_table(rows)
        tell("ended", path=path)
    else:
        sys.stdin.readline()
        problems = [str(problem) for query in queries if (problem := query.exception())]
        for query in queries:
            query.stop()
        tell("stopped", problem=problems[0] if problems else None)
    spark.stop()


if __name__ == "__main__":
    follow(json.loads(sys.argv[1]))
