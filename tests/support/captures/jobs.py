"""Jobs over one capture, each in a process of its own, whose memory can be measured: `python -m tests.support.captures.jobs JOB JSON`.

JSON has `path`, `ports` and, for Spark, `options` of the source and `config` of the session.  The last line of standard output is JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

from tests.support.captures.flow import START_NS

COLUMNS = ("type", "position", "term_offset", "reserved_value", "ts_ns")
SUMS = ("position", "term_offset", "reserved_value")


def read_core(of: dict[str, Any]) -> dict[str, Any]:
    """Read all columns, batch by batch, and add up as they pass."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    from aerowire.pcap import scan

    frames: Counter[str] = Counter()
    sums = dict.fromkeys((*SUMS, "elapsed_ns"), 0)
    for batch in scan(of["path"], ports=of["ports"], payload=True).to_reader():
        frames.update({one["values"].as_py(): one["counts"].as_py() for one in pc.value_counts(batch["type"])})
        data = batch.filter(pc.equal(batch["type"], "DATA"))
        for name in SUMS:
            sums[name] += pc.sum(data[name]).as_py() or 0
        sums["elapsed_ns"] += pc.sum(pc.subtract(data["ts_ns"], START_NS)).as_py() or 0
    return {"frames": dict(frames), "sums": sums}


def build_index(of: dict[str, Any]) -> dict[str, Any]:
    """Build the index of the whole file."""
    from aerowire.pcap.reading import index

    found = index.build(of["path"])
    return {"length": found.length, "is_damaged": found.is_damaged, "cuts": len(found.cuts)}


def _session(of: dict[str, Any]) -> Any:
    from aerowire.pcap.spark import session

    config = {"spark.python.daemon.module": "tests.support.spark.measured_daemon", **of["config"]}
    return session("memory", master="local[2]", config=config)


def read_spark(of: dict[str, Any]) -> dict[str, Any]:
    """Read with Spark: flows by their rule, so that each task needs the index, which the first one builds."""
    spark = _session(of)
    found = _read_with(spark, of)
    spark.stop()
    return found


def _read_with(spark: Any, of: dict[str, Any]) -> dict[str, Any]:
    from pyspark.sql import functions as F  # noqa: N812 - Spark's custom

    frames = spark.read.format("aeron_pcap").options(columns=",".join(COLUMNS), **of["options"]).load(of["path"])
    counts = frames.groupBy("type").count().collect()
    added = [F.sum(name).alias(name) for name in SUMS]
    row = frames.where("type = 'DATA'").agg(*added, F.sum(F.col("ts_ns") - F.lit(START_NS)).alias("elapsed_ns")).collect()[0]
    return {"frames": {one["type"]: one["count"] for one in counts}, "sums": row.asDict(), "parts": frames.rdd.getNumPartitions()}


def analyse_spark(of: dict[str, Any]) -> dict[str, Any]:
    """Have Spark look at the streams."""
    spark = _session(of)
    found = _analysed_with(spark, of)
    spark.stop()
    return found


def read_and_analyse_spark(of: dict[str, Any]) -> dict[str, Any]:
    """Do both in one session."""
    spark = _session(of)
    read, analysed = _read_with(spark, of), _analysed_with(spark, of)
    spark.stop()
    assert read["frames"] == analysed["frames"], (read, analysed)
    return {**read, **analysed}


def _analysed_with(spark: Any, of: dict[str, Any]) -> dict[str, Any]:
    from aerowire.pcap.analysis.summary import summarise_with_spark

    return _told(summarise_with_spark(spark, of["path"], of["ports"]))


def analyse_core(of: dict[str, Any]) -> dict[str, Any]:
    """Look at the streams in this process; which flows count shows at the end of the file only."""
    from aerowire.pcap.analysis.summary import summarise

    return _told(summarise(of["path"]))


def _told(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "frames": found["frames_by_type"],
        "streams": len(found["streams"]),
        **{name: found[name] for name in ("naks", "retransmissions", "retransmitted_bytes")},
    }


JOBS = {
    "core": read_core,
    "index": build_index,
    "read": read_spark,
    "analyse": analyse_spark,
    "read-and-analyse": read_and_analyse_spark,
    "analyse-core": analyse_core,
}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](json.loads(sys.argv[2]))), flush=True)
