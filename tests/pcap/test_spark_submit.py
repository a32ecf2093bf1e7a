"""Jobs that spark-submit runs: what it was told counts, and what a job says itself counts more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aerowire.pcap.java import system_java_home

pyspark = pytest.importorskip("pyspark")

CAPTURE = Path(__file__).parent.parent / "data" / "captures" / "unicast_simple.pcap"
JOB = """
import sys
from aerowire.pcap.spark import session

spark = session("submitted", **eval(sys.argv[2]))
frames = spark.read.format("aeron_pcap").load(sys.argv[1])
conf = spark.sparkContext.getConf()
print("found", spark.sparkContext.master, conf.get("spark.ui.enabled"), conf.get("spark.executor.cores", "-"), frames.count())
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({}, "found local[1] true 1 50"),
        ({"master": "local[2]", "config": {"spark.ui.enabled": "false"}}, "found local[2] false 1 50"),
    ],
)
def test_a_submitted_job_runs_where_it_was_told(tmp_path: Path, said: dict[str, object], found: str) -> None:
    if system_java_home() is None:
        pytest.skip("no Java on this machine")
    job = tmp_path / "job.py"
    job.write_text(JOB)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    settings = ("--master", "local[1]", "--conf", "spark.ui.enabled=true", "--conf", "spark.executor.cores=1")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [submit, *settings, "--conf", "spark.ui.port=0", job, CAPTURE, repr(said)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert [line for line in done.stdout.splitlines() if line.startswith("found")] == [found]
