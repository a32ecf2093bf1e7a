"""A C compiler for tests that compile generated code: its output is kept, and used again for the same input.

`command` returns a value for CC, by which this file runs as a script before the compiler: `python -I -S compiler.py gcc ...`. A call that
compiles one C file to one extension takes the extension from build/compiled if it is there; every other call goes to the compiler, and a
failure is never kept. tests.support.prepare removes extensions that were not used for a month.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "compiled"
FOLDER_VARIABLE = "AEROWIRE_COMPILED"  # another folder, for a copy of the tree
KEPT_S = 30 * 24 * 3600
# The variables that change the output of a compiler.
VARIABLES = ("CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX")


def command(*compiler: str) -> str:
    """Return the value for CC that keeps the output of a compiler, given by the words of its command."""
    return shlex.join([sys.executable, "-I", "-S", __file__, *compiler])


def run(words: list[str]) -> int:
    """Carry out the call of a compiler; return its status."""
    kept = _place(words)
    if kept is None:
        return subprocess.run(words, check=False).returncode
    target = Path(words[words.index("-o") + 1])
    if kept.exists():
        shutil.copyfile(kept, target)
        target.chmod(0o755)
        os.utime(kept)
        return 0
    status = subprocess.run(words, check=False).returncode
    if status == 0:
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(target, partial)
        partial.replace(kept)
    return status


def forget() -> None:
    """Remove extensions that were not used for long."""
    for path in FOLDER.glob("*"):
        if path.stat().st_mtime < time.time() - KEPT_S:
            path.unlink(missing_ok=True)


def _place(words: list[str]) -> Path | None:
    """Return where the output of a call is kept, or None if it may depend on more than the digest covers."""
    include = sysconfig.get_paths()["include"]
    compiler = shutil.which(words[0])
    sources = [word for word in words[1:] if word.endswith(".c")]
    folders = {word.removeprefix("-I") for word in words if word.startswith("-I")}
    if compiler is None or len(sources) != 1 or words.count("-o") != 1 or not folders <= {include}:
        return None
    names = {sources[0], words[words.index("-o") + 1]}
    about = [path.stat() for path in (Path(compiler), Path(include) / "Python.h")]
    facts = [
        *(word for word in words if word not in names),
        *(os.environ.get(name, "") for name in VARIABLES),
        *(f"{one.st_size} {one.st_mtime_ns}" for one in about),
        sys.version,
    ]
    digest = hashlib.sha256("\0".join(facts).encode() + b"\0" + Path(sources[0]).read_bytes()).hexdigest()
    return Path(os.environ.get(FOLDER_VARIABLE) or FOLDER) / digest


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
