"""Rebuild a copy of the tree after its spec/ was edited; run inside it by spec_change.py.

Arguments: the folder of what the compiler made in earlier runs (tests.support.compiler), and the accessors that changed.

A digest says that a module's sources changed, and nearly every module cimports transport.pxd. Those that mention no changed accessor, nor
read a .pxd that does, would become the same machine code: their extensions are taken as they are. The others are compiled without
optimisation, which takes most of the compiler's time and changes nothing that is looked at, and by a compiler that remembers.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import hatch_build
from tests.support import compiler

GENERATED = hatch_build.ROOT / "generated"
_run = hatch_build.run


def mentions(path: Path, names: frozenset[str]) -> bool:
    return not path.is_relative_to(GENERATED) and not names.isdisjoint(re.findall(r"\w+", path.read_text()))


def remembered(command: list[str]) -> str:
    return _run([*shlex.split(compiler.command(command[0])), *command[1:]])


def rebuild(names: frozenset[str]) -> tuple[int, int]:
    """Compile what mentions one of `names`; return how many modules were stale and how many were compiled."""
    read = hatch_build.dependencies(hatch_build.native_sources())
    stale = hatch_build.stale_modules([])
    hatch_build.COMPILE_FLAGS = (*hatch_build.COMPILE_FLAGS, "-O0")  # of two levels the last one counts
    hatch_build.run = remembered
    for dotted, (source, digest) in hatch_build.stale_modules([]).items():
        if not any(mentions(hatch_build.ROOT / path, names) for path in read[str(source.relative_to(hatch_build.ROOT))]):
            hatch_build.stamp_path(dotted).write_text(digest)
    return len(stale), len(hatch_build.build([]))


if __name__ == "__main__":
    os.environ[compiler.FOLDER_VARIABLE] = sys.argv[1]
    print("{1} of {0} stale modules compiled".format(*rebuild(frozenset(sys.argv[2:]))))
