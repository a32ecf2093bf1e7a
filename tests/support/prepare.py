"""Prepare a run of all tests: `python -m tests.support.prepare` makes once what each worker would otherwise make for itself.

It writes the bytecode of the tests, in which pytest replaces each assertion by one that explains its failure, and the files that let
Spark start faster (spark/start.py). It removes the bytecode of what earlier runs imported from folders of their own, and extensions that
no run has needed for a month.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support import compiler
from tests.support.spark import start as spark_start


def collect() -> subprocess.Popen[bytes] | None:
    """Begin to collect the tests of `make test`, which writes their bytecode, unless there is some."""
    if sys.pycache_prefix is None or any((Path(sys.pycache_prefix) / spark_start.ROOT.relative_to("/") / "tests").rglob("*pytest*.pyc")):
        return None
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--ignore=tests/interop"]
    return subprocess.Popen(command, cwd=spark_start.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def forget() -> None:
    """Remove the bytecode of files in the folder of temporary files: no two runs have one of the same path."""
    if sys.pycache_prefix is not None:
        temporary = Path(tempfile.gettempdir()).resolve()
        shutil.rmtree(Path(sys.pycache_prefix) / temporary.relative_to(temporary.anchor), ignore_errors=True)


if __name__ == "__main__":
    forget()
    compiler.forget()
    collecting = collect()
    spark_start.make()
    if collecting is not None:
        collecting.wait()
