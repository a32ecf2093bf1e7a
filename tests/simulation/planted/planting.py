"""Planted defects: patch files against sources, each applied to a copy of its own."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLANTED = Path(__file__).parent


def apply(patch: Path, folder: Path) -> None:
    """Apply a patch to the copies in a folder."""
    if shutil.which("patch") is None:
        pytest.skip("patch is not installed")
    subprocess.run(["patch", "-s", "-p1", "-d", str(folder), "-i", str(patch)], check=True, stdin=subprocess.DEVNULL)


def planted(patch: Path, source: Path, folder: Path) -> ModuleType:
    """Return the module of a Python source, named from the root of the tree, with a defect."""
    copy = folder / source
    copy.parent.mkdir(parents=True)
    shutil.copy(ROOT / source, copy)
    apply(patch, folder)
    spec = importlib.util.spec_from_file_location(f"planted_{patch.stem.replace('-', '_')}", copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
