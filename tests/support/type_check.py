"""mypy for modules that a test wrote: these are checked anew each time; the cache of libraries and our sources stays in build/mypy."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "mypy"
LIMIT_S = 200


def type_check(
    folder: Path, *arguments: str, written: Sequence[str], environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `mypy --strict` with arguments in a folder; `written` are the modules and packages there that the test wrote."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--no-sqlite-cache", "--cache-dir", str(FOLDER)]
    with (FOLDER / "lock").open("w") as lock:  # several processes of tests
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in written:
            _forget(name)
        return subprocess.run(
            [*command, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
        )


def _forget(name: str) -> None:
    for version in FOLDER.glob("3.*"):
        shutil.rmtree(version / name, ignore_errors=True)
        for path in version.glob(f"{name}.*"):
            path.unlink()
