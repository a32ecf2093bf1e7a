"""Hold each native module to its stub with mypy's stubtest; run by `make lint`.

A name in a stub that the module lacks, or a signature that differs, is an error.  What Cython adds to every module
and class by itself is not part of the interface.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import hatch_build

# Every one of these is written by Cython, not by us; a cdef class tells nothing of its constructor's parameters.
CYTHON_NAMES = (
    r".*\.__pyx_capi__",
    r".*\.__test__",
    r".*\.__reduce_cython__",
    r".*\.__setstate_cython__",
    r".*\.__pyx_vtable__",
    r".*\.__init__",
    r".*\.__buffer__",  # the slot shows as a method from Python 3.12 on
)


def main() -> int:
    stubbed = {name: path for name, path in hatch_build.find_modules([]).items() if path.with_suffix(".pyi").exists()}
    without = sorted(set(hatch_build.find_modules([])) - set(stubbed))
    for name in without:
        print(f"{name}: no .pyi beside its .pyx")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as allowed:
        allowed.write("\n".join(CYTHON_NAMES))
        allowed.flush()
        command = [sys.executable, "-m", "mypy.stubtest", "--ignore-missing-stub", "--ignore-unused-allowlist", "--ignore-disjoint-bases"]
        command += ["--mypy-config-file", str(Path(hatch_build.ROOT) / "pyproject.toml"), "--allowlist", allowed.name]
        done = subprocess.run([*command, *sorted(stubbed)], check=False, cwd=hatch_build.ROOT) if stubbed else None
    return 1 if without or (done is not None and done.returncode) else 0


if __name__ == "__main__":
    sys.exit(main())
