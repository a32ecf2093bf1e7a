"""Processes of the interop suite: drivers and clients, ours and the official ones, with the same arguments for both.

Knows how the official jar is found and run; knows nothing of what a run should show (test_matrix.py).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn

import pytest

from tests.support.processes import LIMIT_S, Process, Workshop, driver_command, peer_arguments, peer_command

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "build" / "interop"
# Aeron maps files and reaches into NIO's selectors; the virtual machine has to be told to let it.
OPENED_MODULES = ("java.base/sun.nio.ch=ALL-UNNAMED", "java.base/jdk.internal.misc=ALL-UNNAMED", "java.base/java.util.zip=ALL-UNNAMED")
# Two drivers and two clients share two cores for some seconds: small heaps, no parallel collector, only the quicker compiler.
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-XX:-UsePerfData", "-Xshare:auto")
# Peers hash what they send and receive, and only the second compiler knows the processor's instructions for that. The last flag counts.
PEER_FLAGS = ("-XX:TieredStopAtLevel=4",)

# A driver that was not given the processor for some seconds is not dead.
PATIENT_MS = "60000"

Side = Literal["aerowire", "official"]


def unavailable(reason: str) -> NoReturn:
    """Skip the test; where Maven is there in CI, nothing excuses a skip."""
    if os.environ.get("CI") and shutil.which("mvn"):
        pytest.fail(f"interop must run where mvn is: {reason}")
    pytest.skip(reason)


@dataclass(frozen=True)
class Artifact:
    """A jar on Maven Central, and the environment variable that names another one in its place."""

    group: str
    name: str
    version: str
    variable: str

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"

    @property
    def stored(self) -> Path:
        """Where Maven's local repository has it."""
        folder = Path.home().joinpath(".m2", "repository", *self.group.split("."), self.name, self.version)
        return folder / f"{self.name}-{self.version}.jar"


# The newest release that runs on Java 17.
AERON_ALL = Artifact("io.aeron", "aeron-all", "1.51.0", "AERON_ALL_JAR")


@dataclass(frozen=True)
class Java:
    """The official implementation: a virtual machine, the jar and our compiled peers."""

    executable: str
    jar: Path
    classes: Path
    flags: tuple[str, ...] = ()

    def command(self, main: str, *arguments: str, properties: Mapping[str, str] | None = None) -> list[str]:
        opened = [item for module in OPENED_MODULES for item in ("--add-opens", module)]
        given = [f"-D{name}={value}" for name, value in (properties or {}).items()]
        return [self.executable, *JVM_FLAGS, *self.flags, *opened, *given, "-cp", f"{self.jar}{os.pathsep}{self.classes}", main, *arguments]

    def run_tool(self, main: str, directory: Path, *arguments: str, properties: Mapping[str, str] | None = None) -> str:
        """Run one of the jar's tools on an Aeron directory and return what it printed."""
        command = self.command(main, *arguments, properties={"aeron.dir": str(directory), **(properties or {})})
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{main} exited {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout


@contextmanager
def locked_work(name: str = "lock") -> Iterator[None]:
    """Let one process at a time fetch and compile; the others find what it made. What takes long has a lock of another name."""
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find_java(folder: Path = HERE / "java", artifact: Artifact = AERON_ALL) -> Java:
    """Return the official implementation, fetched, and the compiled classes of `folder`; skip without it."""
    java, javac = shutil.which("java"), shutil.which("javac")
    if java is None or javac is None:
        unavailable("no java and javac on PATH")
    jar = find_jar(artifact)
    sources = sorted(folder.glob("*.java"))
    digest = hashlib.sha256(str(jar).encode() + b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    classes = WORK / f"classes-{digest}.jar"
    with locked_work():
        if not classes.exists():
            with tempfile.TemporaryDirectory(dir=WORK) as partial:
                command = [javac, "-Xlint:all", "-Werror", "-cp", str(jar), "-d", f"{partial}/classes", *map(str, sources)]
                done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
                assert done.returncode == 0, done.stdout + done.stderr
                # A jar, not a folder: an archive of classes (class_archive.py) has none from folders.
                Path(shutil.make_archive(f"{partial}/jar", "zip", f"{partial}/classes")).rename(classes)
    return Java(java, jar, classes)


@locked_work()
def find_jar(artifact: Artifact) -> Path:
    """Return an official jar: named by the environment, in Maven's local repository, or fetched into it by mvn."""
    if named := os.environ.get(artifact.variable):
        return Path(named)
    copied = WORK / artifact.stored.name
    for jar in (artifact.stored, copied):
        if jar.exists():
            return jar
    mvn = shutil.which("mvn")
    if mvn is None:
        unavailable(f"no {copied.name} and no mvn to fetch it; name a jar with {artifact.variable}")
    wanted = f"-Dartifact={artifact.coordinates}"
    command = [mvn, "-q", "-B", "dependency:copy", wanted, f"-DoutputDirectory={WORK}", "-Dmdep.useBaseVersion=true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if not copied.exists():
        unavailable(f"mvn could not fetch {artifact.coordinates}: {(done.stdout + done.stderr).strip()[-300:]}")
    return copied


class OfficialVerification:
    """The official tool that verifies directories of archives, in one virtual machine for all tests of a process: the first starts it."""

    def __init__(self, java: Java, log: Path) -> None:
        self._java = java
        self._log = log
        self._process: Process | None = None

    def verify(self, directory: Path) -> list[str]:
        """Verify every segment of every recording in a directory; return the lines that the tool printed."""
        if self._process is None:
            self._process = Process("official verification", self._java.command("ArchiveVerification", "none"), self._log)
        process, lines = self._process, list[str]()
        assert process.popen.stdin is not None
        try:
            process.popen.stdin.write(f"{directory}\n".encode())
            process.popen.stdin.flush()
            while (line := process.line(LIMIT_S)) != "verified 1":
                lines.append(line)
        except (AssertionError, OSError):
            self.close()  # the next test starts another one
            raise
        return lines

    def close(self) -> None:
        """End the virtual machine, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()


@dataclass(frozen=True)
class Driver:
    """A running media driver."""

    side: Side
    directory: Path
    process: Process


class Bench:
    """One test's drivers and peers of either side, and what verifies the archives that it leaves."""

    def __init__(self, java: Java, workshop: Workshop, verification: OfficialVerification | None = None) -> None:
        self.java = java
        self.workshop = workshop
        self.verification = verification

    def driver(self, side: Side, properties: Mapping[str, str] | None = None, prefix: Sequence[str] = ()) -> Driver:
        """Start a driver; `prefix` is a command that runs another, which puts the driver somewhere else."""
        directory = self.workshop.directory()
        options = {"aeron.threading.mode": "SHARED", "aeron.dir.delete.on.shutdown": "true", **(properties or {})}
        if side == "aerowire":
            command = driver_command(directory, options)
        else:
            command = self.java.command("io.aeron.driver.MediaDriver", properties={"aeron.dir": str(directory), **options})
        return Driver(side, directory, self.workshop.start(f"{side} driver", [*prefix, *command]))

    def peer(self, side: Side, role: str, driver: Driver, prefix: Sequence[str] = (), /, **arguments: object) -> Process:
        """Start a peer; `prefix` is a command that runs another, which puts the peer somewhere else."""
        given = peer_arguments(driver.directory, arguments)
        if side == "aerowire":
            command = ["env", f"AERON_DRIVER_TIMEOUT={PATIENT_MS}", *peer_command(role, given)]
        else:
            java = replace(self.java, flags=(*self.java.flags, *PEER_FLAGS))
            command = java.command(role.capitalize(), *given, properties={"aeron.driver.timeout": PATIENT_MS})
        return self.workshop.start(f"{side} {role}", [*prefix, *command])


def counters_by_label(aeron_stat: str) -> dict[str, int]:
    """Return label -> value of what AeronStat printed."""
    found = re.findall(r"^\s*\d+:\s+([-\d,]+) - (.*)$", aeron_stat, re.MULTILINE)
    return {label.strip(): int(value.replace(",", "")) for value, label in found}
