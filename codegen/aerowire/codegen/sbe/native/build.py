"""Compilation of a Cython module in place, with errors that say what to do."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TOLD = 12  # lines of what a compiler said
# Most of what a codec does is calls into Python: more optimisation doubles the time of compilation and gains nothing that is measured.
FLAGS = ("-O1", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-fvisibility=hidden", "-g0", "-w", "-shared")


class NativeBuildError(Exception):
    """A module was not compiled; the message says why, with the compiler's own words where it has some."""


def extension_path(source: Path) -> Path:
    """Where the extension of a Cython module goes: beside it."""
    return source.with_name(source.stem + sysconfig.get_config_var("EXT_SUFFIX"))


def compile_module(source: Path, dotted: str) -> bool:
    """Compile a `.pyx` unless its extension is newer; returns whether it was.  CFLAGS are added.  Raises NativeBuildError."""
    target = extension_path(source)
    if target.exists() and target.stat().st_mtime_ns > source.stat().st_mtime_ns:
        return False
    if find_spec("Cython") is None:
        raise NativeBuildError("--native needs Cython, which is not installed: expected `pip install cython`, actual no module Cython")
    command = c_compiler()
    with tempfile.TemporaryDirectory(prefix="sbe-native-") as folder:
        c_file = Path(folder) / f"{source.stem}.c"
        built = Path(folder) / target.name
        _translate(source, dotted, c_file)
        flags = [*FLAGS, *shlex.split(os.environ.get("CFLAGS", ""))]
        _run(command, [*flags, f"-I{sysconfig.get_paths()['include']}", str(c_file), "-o", str(built), "-lm"], source)
        # Beside the target first: an interpreter that has the old one loaded keeps it, and none sees half of the new one.
        partial = target.with_suffix(".partial")
        shutil.copyfile(built, partial)
        partial.replace(target)
    return True


def c_compiler() -> list[str]:
    """The command of the C compiler, `ccache gcc` say: CC's, Python's own, or one of a usual name.  Raises NativeBuildError."""
    names = [os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc", "gcc", "clang"]
    commands = list(dict.fromkeys(name.strip() for name in names if name and name.strip()))
    found = next((words for words in map(shlex.split, commands) if shutil.which(words[0])), None)
    if found is None:
        raise NativeBuildError(f"--native needs a C compiler: expected one of {', '.join(commands)} on the path, actual none\n{_needed()}")
    return found


def _translate(source: Path, dotted: str, c_file: Path) -> None:
    compiler: Any = import_module("Cython.Compiler.Main")
    errors: Any = import_module("Cython.Compiler.Errors")
    options = compiler.CompilationOptions(compiler.default_options, output_file=str(c_file))
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            failures = compiler.compile(str(source), options, full_module_name=dotted).num_errors
        except errors.CompileError as error:
            raise NativeBuildError(f"{source}: not translated: {error}") from None
    if failures:
        raise NativeBuildError(f"{source}: not translated\n{said.getvalue()}")


def _run(compiler: list[str], arguments: list[str], source: Path) -> None:
    command = [*compiler, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise NativeBuildError(f"{source}: not compiled: {shlex.join(compiler)} does not run: {error}\n{_needed()}") from None
    if done.returncode:
        lines = [line for line in f"{done.stdout}\n{done.stderr}".split("\n") if line.strip()]
        said = "\n".join(lines[-TOLD:]) or "(it said nothing)"
        what = f"the C compiler {shlex.join(compiler)} failed with status {done.returncode}"
        raise NativeBuildError(f"{source}: not compiled: {what}: {shlex.join(command)}\n{said}\n{_needed()}")


def _needed() -> str:
    """What to install."""
    version = ".".join(str(one) for one in sys.version_info[:2])
    return (
        "needed are a C compiler (gcc or clang, the one that CC names comes first) and the header files of Python "
        f"{version}: on Debian and Ubuntu `apt install gcc python3-dev`, on Fedora `dnf install gcc python3-devel`, "
        "on macOS `xcode-select --install`"
    )
