"""Hold each native module to its stub with mypy's stubtest; run by `make lint`.

A name in a stub that the module lacks, or a signature that differs, is an error.  What Cython adds to every module
and class by itself is not part of the interface.  `constructors` compares what stubtest cannot see.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import hatch_build
from tests.house import constructors

# Each of these is written by Cython, not by us, or is a constructor, of which a cdef class tells nothing.
CYTHON_NAMES = (
    r".*\.__pyx_capi__",
    r".*\.__test__",
    r".*\.__reduce_cython__",
    r".*\.__setstate_cython__",
    r".*\.__pyx_vtable__",
    r".*\.__init__",
    r".*\.__buffer__",  # the slot shows as a method from Python 3.12 on
)

# A line that begins to import something, from the package or module that it names first.
IMPORT = re.compile(r"^\s*(?:from|import)\s+([\w.]+)", re.MULTILINE)
# Beside the packages, these hold Python that imports native modules.
USERS = ("codegen", "tests", "benchmarks", "examples")


def imported_from_python(modules: set[str]) -> set[str]:
    """Return those of the dotted names that a `.py` or `.pyi` of the tree imports."""
    found: set[str] = set()
    for path in [path for root in (*hatch_build.SOURCE_ROOTS, *USERS) for path in (hatch_build.ROOT / root).rglob("*.py*")]:
        if path.suffix not in {".py", ".pyi"}:
            continue
        text, missing = path.read_text(), modules - found
        homes = missing | {name.rpartition(".")[0] for name in missing}
        # To parse all files takes seconds, and most import none of those that are still to be found.
        if homes.isdisjoint(IMPORT.findall(text)):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= missing.intersection(each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found |= missing.intersection([str(node.module), *(f"{node.module}.{each.name}" for each in node.names)])
    return found


def misplaced_stubs() -> list[str]:
    """Return a line for each native module that Python imports and that has no stub, or the other way round.

    A module that only other native modules cimport has its .pxd; its stub would have no reader.
    """
    native = hatch_build.find_modules([])
    imported, found = imported_from_python(set(native)), []
    for name, path in native.items():
        has_stub = path.with_suffix(".pyi").exists()
        if has_stub != (name in imported):
            found.append(f"{name}: a .pyi, but no Python module imports it" if has_stub else f"{name}: no .pyi beside its .pyx")
    return found


def main() -> int:
    modules = hatch_build.find_modules([])
    stubbed = [name for name, path in modules.items() if path.with_suffix(".pyi").exists()]
    found = [*misplaced_stubs(), *constructors.differences(modules)]
    for line in found:
        print(line)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as allowed:
        allowed.write("\n".join(CYTHON_NAMES))
        allowed.flush()
        command = [sys.executable, "-m", "mypy.stubtest", "--ignore-missing-stub", "--ignore-unused-allowlist", "--ignore-disjoint-bases"]
        command += ["--mypy-config-file", str(Path(hatch_build.ROOT) / "pyproject.toml"), "--allowlist", allowed.name]
        done = subprocess.run([*command, *sorted(stubbed)], check=False, cwd=hatch_build.ROOT)
    return 1 if found or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
