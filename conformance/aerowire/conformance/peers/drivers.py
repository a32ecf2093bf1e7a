"""The adapters: aerowire's driver, official Java, a command of the user's, a driver that already runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.peers.base import Peer, PeerError, ProcessPeer, as_environment, as_properties

JAR_VARIABLE = "AERON_ALL_JAR"
JAR_NAME = re.compile(r"aeron-all-(\d+(?:\.\d+)*)\.jar$")
JAVA_OPENS = ("java.base/sun.nio.ch=ALL-UNNAMED", "java.base/jdk.internal.misc=ALL-UNNAMED")
JAVA_DRIVER = "io.aeron.driver.MediaDriver"


def short_timers() -> dict[str, str]:
    """Properties that shorten a driver's timers, so that a whole run takes a minute and not ten."""
    return {
        OPTIONS["dir_delete_on_start"].property: "true",
        OPTIONS["dir_delete_on_shutdown"].property: "true",
        OPTIONS["term_buffer_length"].property: "64k",
        OPTIONS["publication_linger_timeout_ns"].property: "500ms",
        OPTIONS["publication_connection_timeout_ns"].property: "1s",
        OPTIONS["timer_interval_ns"].property: "100ms",
    }


class AerowirePeer(ProcessPeer):
    """This distribution's driver, run as a user runs it."""

    name = "aerowire"

    def command(self) -> list[str]:
        """Return the command line of `aerowire driver`."""
        module = [sys.executable, "-m", "aerowire.tools.main", "driver", "--dir", str(self.directory)]
        return [*module, *as_properties(self.properties, self.directory)]


class JavaPeer(ProcessPeer):
    """The official Java driver out of the aeron-all jar."""

    name = "java"

    def __init__(self, properties: Mapping[str, str] | None = None, jar: Path | None = None, directory: Path | None = None) -> None:
        super().__init__(properties, directory)
        self.jar = jar or find_jar()
        if not self.jar.exists():
            raise PeerError(f"{self.jar}: no such jar")
        found = JAR_NAME.search(self.jar.name)
        self.release = found.group(1) if found else None

    def command(self) -> list[str]:
        """Return the command line of the jar's media driver."""
        java = shutil.which("java")
        if java is None:
            raise PeerError("no java command; install a Java 17 runtime, or choose another --driver")
        opens = [argument for module in JAVA_OPENS for argument in ("--add-opens", module)]
        return [java, *opens, "-cp", str(self.jar), *as_properties(self.properties, self.directory), JAVA_DRIVER]


class CommandPeer(ProcessPeer):
    """Any driver that a command line starts.

    The command sees its directory and properties as `AERON_*` environment variables (the C driver's names), and
    the words `{dir}` and `{properties}` in it are replaced by the directory and by `-Dname=value` arguments.
    """

    name = "command"

    def __init__(self, command: str, properties: Mapping[str, str] | None = None, directory: Path | None = None) -> None:
        super().__init__(properties, directory)
        self._words = shlex.split(command)
        if not self._words:
            raise PeerError("--driver-command is empty")

    def command(self) -> list[str]:
        """Return the user's words with the placeholders replaced."""
        words: list[str] = []
        for word in self._words:
            if word == "{properties}":
                words.extend(as_properties(self.properties, self.directory))
            else:
                words.append(word.replace("{dir}", str(self.directory)))
        return words

    @property
    def pid(self) -> int | None:
        """Nobody knows: the command may start the driver as a process of its own, or in a container."""
        return None

    def environment(self) -> dict[str, str]:
        """Return this process's environment with the driver's variables added."""
        return {**os.environ, **as_environment(self.properties, self.directory)}


class RunningPeer(Peer):
    """A driver that somebody else started; `properties` say only what is known of its timers."""

    name = "running"

    def __init__(self, directory: Path, properties: Mapping[str, str] | None = None) -> None:
        super().__init__(properties)
        self.directory = directory

    def start(self) -> None:
        """Check that there is a driver directory."""
        if not self.directory.is_dir():
            raise PeerError(f"{self.directory}: no such driver directory")

    def stop(self) -> None:
        """Leave the driver alone."""


def find_jar() -> Path:
    """Return the aeron-all jar named by the environment, or the newest in maven's local repository."""
    named = os.environ.get(JAR_VARIABLE)
    if named:
        return Path(named)
    repository = Path.home() / ".m2" / "repository" / "io" / "aeron" / "aeron-all"
    jars = [path for path in repository.glob("*/aeron-all-*.jar") if JAR_NAME.search(path.name)]
    if not jars:
        raise PeerError(f"no aeron-all jar in {repository}; name one with --jar or {JAR_VARIABLE}")
    return max(jars, key=lambda path: [int(part) for part in JAR_NAME.search(path.name).group(1).split(".")])  # type: ignore[union-attr]
