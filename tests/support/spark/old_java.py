"""A machine whose Java is too old for Spark, as some are: the environment that such a machine gives its processes."""

from __future__ import annotations

import os
from pathlib import Path


def put_old_java(folder: Path) -> Path:
    """Make a java of version 8 below `folder`; return the folder to put on the search path. It tells its version and runs nothing."""
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho '    java.specification.version = 1.8' >&2\n")
    java.chmod(0o755)
    return java.parent


def environment_with_old_java(folder: Path) -> dict[str, str]:
    """Return this process's environment with that java first on the search path and no JAVA_HOME."""
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return environment | {"PATH": os.pathsep.join([str(put_old_java(folder)), os.environ["PATH"]])}
