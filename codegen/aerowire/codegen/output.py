"""Generated files on disk: write those that changed, and compare those that are there with those that should be."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from aerowire.codegen.mark import MARK
from aerowire.codegen.rendering.base import DOCUMENTS, PACKAGE
from aerowire.codegen.sources import home

SUFFIXES = {".py", ".pxd", ".pyi", ".lua", ".md", ".typed"}

NAME_MAX = 255  # bytes of a file's name
CACHED = ".cpython-311.opt-2.pyc"  # what Python's cache has behind the name of a module; the files below have less
PARTIAL = "..4194304"  # what a file has in front and behind while it is written


@dataclass(frozen=True, slots=True)
class Written:
    """What a run of `generate` did, as paths below the output folder."""

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


def too_long(files: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield each file whose name no file system holds, or that of the compiled module that Python caches, and the name's length."""
    for name in files:
        for part in name.split("/"):
            suffix = CACHED if part.endswith(".py") else PARTIAL
            length = len(part.removesuffix(".py").encode("utf-8", "surrogatepass")) + len(suffix)
            if length > NAME_MAX:
                yield name, length


def write_files(out: Path, files: dict[str, str], *, is_complete: bool) -> Written:
    """Write what differs, each file at once; with a complete set, remove generated files that are no longer in it."""
    changed, unchanged = [], []
    for name, text in files.items():
        path = place(out, name)
        data = text.encode()
        if path.is_file() and path.read_bytes() == data:
            unchanged.append(name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            partial.write_bytes(data)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        changed.append(name)
    removed = [name for name in _present(out) if name not in files and _is_generated(place(out, name))] if is_complete else []
    for name in removed:
        place(out, name).unlink()
    return Written(tuple(changed), tuple(unchanged), tuple(removed))


def compare_files(out: Path, files: dict[str, str], *, is_complete: bool) -> Iterator[str]:
    """Yield one report per file that is missing, differs (with a unified diff) or, beside a complete set, should not be there."""
    for name, text in files.items():
        path = place(out, name)
        if not path.is_file():
            yield f"{path}: missing"
            continue
        data = path.read_bytes()
        if data != text.encode():
            yield f"{path}: stale\n{_diff(data.decode(errors='replace'), text, str(path))}"
    for name in _present(out) if is_complete else ():
        if name not in files:
            yield f"{place(out, name)}: nothing generates this file"


def _diff(old: str, new: str, name: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), fromfile=name, tofile=f"{name} (as generated now)"
    )
    return "".join(line if line.endswith("\n") else line + "\n\\ no newline at end of file\n" for line in lines)


def place(out: Path, name: str) -> Path:
    """Where a file lies: pages of documentation in the checkout that the output folder is a part of, if it is one."""
    if name.startswith(f"{DOCUMENTS}/") and out.resolve() == home() / "generated":
        return home() / name
    return out / name


def _present(out: Path) -> list[str]:
    """Source files in the package, and pages, sorted."""
    found = [
        f"{folder}/{path.relative_to(root)}"
        for folder in (PACKAGE, DOCUMENTS)
        for root in [place(out, f"{folder}/")]
        for path in root.rglob("*")
        if path.is_file() and (path.suffix in SUFFIXES or path.name == "py.typed") and "__pycache__" not in path.parts
    ]
    return sorted(found)


def _is_generated(path: Path) -> bool:
    return path.name == "py.typed" or MARK in path.read_text(errors="replace")[:400]
