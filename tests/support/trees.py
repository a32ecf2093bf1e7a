"""A copy of the project's tree, to be changed, rebuilt and run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import hatch_build

ROOT = hatch_build.ROOT
SOURCE_ROOTS = ("generated", "runtime", "codegen", "conformance", "pcap")
COPIED = (*SOURCE_ROOTS, "spec", "tests", "build/native", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE")


def environment(tree: Path) -> dict[str, str]:
    """Return the environment in which `import aerowire` finds the packages of `tree`."""
    path = os.pathsep.join(str(tree / root) for root in SOURCE_ROOTS)
    return {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{tree}"}


def execute(tree: Path, *command: str) -> str:
    """Run Python in a tree; return what it printed."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env=environment(tree),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{' '.join(command)} exited {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def copy_tree(target: Path) -> None:
    """Copy sources, extensions and their digests, so that only what a change touches is compiled again."""
    ignore = shutil.ignore_patterns("__pycache__", "*.c", "*.lock", "*.tmp")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignore)
        elif source.exists():
            shutil.copy2(source, target / name)
