"""Hold each native module to its stub with mypy's stubtest; run by `make lint`.

A name in a stub that the module lacks, or a signature that differs, is an error.  What Cython adds to every module
and class by itself is not part of the interface.  `constructors` compares what stubtest cannot see.
"""

from __future__ import annotations

import ast
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

# Beside the packages, these hold Python that imports native modules.
USERS = ("codegen", "tests", "benchmarks", "examples")


def imported_from_python() -> set[str]:
    """Return the dotted name of everything that a `.py` or `.pyi` of the tree imports."""
    found = set()
    for path in [path for root in (*hatch_build.SOURCE_ROOTS, *USERS) for path in (hatch_build.ROOT / root).rglob("*.py*")]:
        if path.suffix in {".py", ".pyi"}:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    found |= {each.name for each in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    found |= {str(node.module), *(f"{node.module}.{each.name}" for each in node.names)}
    return found


def misplaced_stubs() -> list[str]:
    """Return a line for each native module that Python imports and that has no stub, or the other way round.

    A module that only other native modules cimport has its .pxd; its stub would have no reader.
    """
    imported, found = imported_from_python(), []
    for name, path in hatch_build.find_modules([]).items():
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
