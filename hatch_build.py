"""Build hook: compile every Cython module and leave the extension beside its source.

Run by hatchling for wheels and editable installs, and by hand while developing:

    python hatch_build.py [--force] [--sanitize LIST] [NAME ...]

compiles what is stale (all of it, or the modules whose dotted name contains a NAME).
A module is stale when the digest of its source, of everything it cimports and of the
compiler flags differs from the digest stored at its last build.  A Cython performance
hint is an error: each one is a nogil call that takes the interpreter lock after all.

Each module is compiled in a fork of this process, which has loaded Cython once: loading it
takes longer than translating a module.  What Cython would write into every module, its type of
functions and its memoryviews among them, is compiled once, as SHARED_MODULE.  A build that is
killed leaves every extension either as it was or as it shall be, and what it had not finished
is stale.

This file knows the compiler and the layout of the tree; it knows nothing of Aeron.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import gc
import hashlib
import io
import json
import multiprocessing
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import traceback
from functools import cache
from importlib import import_module, metadata
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
SOURCE_ROOTS = ("generated", "runtime", "conformance", "pcap")
INCLUDE_ROOTS = ("generated", "runtime")
# Its .pyx says what it is, and is empty otherwise: all of it is Cython's own code.
SHARED_MODULE = "aerowire.process.cython_utilities"
LATER_VARIABLE = "AEROWIRE_BUILD_LATER"
SPEC_IN_WHEEL = "aerowire/codegen/spec"
BUILD_DIR = ROOT / "build" / "native"
CYTHON_DIRECTIVES = {
    "language_level": "3",
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "auto_pickle": False,
    "binding": True,
    # The C files would be half as long again, for a reader whom they do not have.
    "emit_code_comments": False,
}
# Modules and folders of the runtime that are compiled at -O1, which takes two thirds of the time of -O3, and how often their code runs.
# What they have in hot paths is inline in their .pxd and compiled as its users are, at -O3.  Every message passes through the rest.
LIGHT = {
    "agents/event_log": "once per recorded event",
    "base": "once per option, agent or sleep",
    "client/conductor": "once per keepalive",
    "driver/event_log": "once per recorded event",
    "ipc": "once per command or counter",
    "memory": "once per mapped file",
    "simulation": "in tests and experiments",
    "system/bus_error": "once per lost page",
    "system/file_system": "once per operation on a file",
    "system/heap": "once per process",
    "system/hiccups": "in measurements",
    "system/random": "once per stream",
}
LINE_EVERY = 10  # modules, on the terminal of a pip that hides the lines of the others
SANITIZE_CHOICES = ("thread", "address", "address,undefined", "address,undefined,coverage")
# Calls into tests/fuzz/engine.c, one for each basic block and one for each comparison.
COVERAGE_FLAG = "-fsanitize-coverage=trace-pc,trace-cmp"
COMPILE_FLAGS: tuple[str, ...] = ("-fPIC", "-fwrapv", "-fno-strict-aliasing", "-fvisibility=hidden", "-Wall")
# Cython's output compares signed with unsigned and leaves unused statics behind; neither says anything about our code.
QUIET_FLAGS = ("-Wno-unused-function", "-Wno-sign-compare", "-Wno-unreachable-code", "-Wno-unused-variable")


class BuildError(Exception):
    """A module did not compile; the message holds the compiler's own output."""


def find_modules(names: list[str]) -> dict[str, Path]:
    """Return dotted module name -> .pyx path for every module whose name contains one of `names`."""
    found: dict[str, Path] = {}
    for root in SOURCE_ROOTS:
        for path in sorted((ROOT / root).rglob("*.pyx")):
            dotted = ".".join(path.relative_to(ROOT / root).with_suffix("").parts)
            if not names or any(name in dotted for name in names):
                found[dotted] = path
    return found


def extension_path(source: Path) -> Path:
    return source.with_name(source.stem + sysconfig.get_config_var("EXT_SUFFIX"))


def flags(source: Path, sanitize: str | None) -> list[str]:
    is_light = any(source.with_suffix("").is_relative_to(ROOT / "runtime" / "aerowire" / name) for name in LIGHT)
    out = ["-O1" if sanitize or is_light else "-O3", *COMPILE_FLAGS, *QUIET_FLAGS, f"-I{sysconfig.get_paths()['include']}"]
    return [*out, *sanitizer_flags(sanitize.split(","))] if sanitize else [*out, "-g0"]


def sanitizer_flags(kinds: list[str]) -> list[str]:
    """Return the flags of an instrumented build: `coverage` among the kinds is for the fuzzer, the others are gcc's sanitizers."""
    checked = [kind for kind in kinds if kind != "coverage"]
    out = ["-g1", "-fno-omit-frame-pointer", f"-fsanitize={','.join(checked)}"]
    if "undefined" in checked:
        # With -fwrapv no signed overflow would be reported.  Unaligned fields are wanted: the frames of a capture are read where they are.
        out += ["-fno-wrapv", "-fno-sanitize=alignment"]
    if "coverage" in kinds:
        out.append(COVERAGE_FLAG)
    return out


@cache
def translator() -> str:
    """Return what besides the sources decides what Cython makes of them, and which files it reads for it."""
    versions = (metadata.version("cython"), sys.version)
    return repr((versions, sorted(CYTHON_DIRECTIVES.items()), SHARED_MODULE, SOURCE_ROOTS, INCLUDE_ROOTS))


def digest_of(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def native_sources() -> dict[str, str]:
    """Return the path below ROOT of everything that Cython could read, and the digest of its bytes."""
    found = (path for root in SOURCE_ROOTS for path in sorted((ROOT / root).rglob("*.p*")) if path.suffix in {".pyx", ".pxd", ".pxi"})
    return {str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def dependencies(sources: dict[str, str]) -> dict[str, list[str]]:
    """Return for each module's .pyx the files, itself among them, that decide what it becomes.

    Cython takes a second to find them, so its answer is kept: it holds as long as all the sources have the same bytes.
    """
    kept, state = BUILD_DIR / "dependencies.json", digest_of(translator(), repr(sources))
    with contextlib.suppress(OSError, ValueError):
        read = json.loads(kept.read_text())
        if read["state"] == state:
            return dict(read["files"])
    tree, files = dependency_tree(), {}
    for path in sources:
        if path.endswith(".pyx"):
            found = {Path(each) for each in tree.all_dependencies(str(ROOT / path))}
            files[path] = sorted({path, *(str(each.relative_to(ROOT)) for each in found if each.is_relative_to(ROOT))} & sources.keys())
    BUILD_DIR.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps({"state": state, "files": files}))
    partial.replace(kept)
    return files


def dependency_tree() -> Any:
    """Return Cython's own view of which file cimports which; its modules carry no types."""
    compiler: Any = import_module("Cython.Compiler.Main")
    options = compiler.CompilationOptions(include_path=[str(ROOT / root) for root in INCLUDE_ROOTS])
    utilities: Any = import_module("Cython.Utils")
    utilities.clear_function_caches()  # a file may have changed since this process last asked
    return import_module("Cython.Build.Dependencies").DependencyTree(compiler.Context.from_options(options), quiet=True)


def stamp_path(dotted: str) -> Path:
    return BUILD_DIR / f"{dotted}.sha256"


def stale_modules(names: list[str], sanitize: str | None = None) -> dict[str, tuple[Path, str]]:
    """Return dotted name -> (source, digest) for each module whose extension is missing or older than its source."""
    sources = native_sources()
    read = dependencies(sources)
    stale = {}
    for dotted, source in find_modules(names).items():
        digests = [sources[path] for path in read[str(source.relative_to(ROOT))]]
        digest = digest_of(translator(), repr(flags(source, sanitize)), *digests)
        if not is_fresh(dotted, source, digest):
            stale[dotted] = (source, digest)
    return stale


def is_fresh(dotted: str, source: Path, digest: str) -> bool:
    stamp = stamp_path(dotted)
    return extension_path(source).exists() and stamp.exists() and stamp.read_text() == digest


def translate(source: Path, dotted: str, c_file: Path, *, emits_lines: bool = False) -> str:
    """Write the C of a Cython module; return what the compiler said.  It is a part of this process, and is loaded once."""
    compiler: Any = import_module("Cython.Compiler.Main")
    is_shared = dotted == SHARED_MODULE
    options = compiler.CompilationOptions(
        compiler.default_options,
        compiler_directives=dict(CYTHON_DIRECTIVES),
        include_path=[str(ROOT / root) for root in INCLUDE_ROOTS],
        output_file=str(c_file),
        emit_linenums=emits_lines,
        module_name=dotted,
        **({"shared_c_file_path": str(c_file)} if is_shared else {"shared_utility_qualified_name": SHARED_MODULE}),
    )
    with contextlib.redirect_stderr(io.StringIO()) as said:
        if is_shared:
            _, result = import_module("Cython.Build.SharedModule").generate_shared_module(options)
        else:
            result = compiler.compile(str(source), options, full_module_name=dotted)
    if result.num_errors:
        raise BuildError(f"{source}: not translated\n{said.getvalue()}")
    if "performance hint" in said.getvalue():
        raise BuildError(f"{source}: a nogil function would take the interpreter lock\n{said.getvalue()}")
    return said.getvalue()


def load_compiler() -> None:
    """Translate next to nothing, so that the forks find the whole compiler loaded."""
    source = BUILD_DIR / "nothing.pyx"
    source.write_text("cdef class Nothing:\n    cpdef int nothing(self):\n        return 0\n")
    translate(source, "nothing", source.with_suffix(".c"))


def c_compiler() -> str:
    """Return the C compiler: CC's, Python's own, or one that goes by a usual name."""
    names = [os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc", "gcc", "clang"]
    commands = [shlex.split(name)[0] for name in names if name]
    found = next(filter(shutil.which, commands), None)
    if found is None:
        raise BuildError(
            f"no C compiler: none of {', '.join(dict.fromkeys(commands))} is there; install one (gcc libc6-dev) or name it in CC"
        )
    return found


def run(command: list[str]) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise BuildError(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
    return done.stderr


def compile_module(dotted: str, source: Path, digest: str, sanitize: str | None) -> str:
    """Compile one module unless another process has just done so; return the warnings."""
    stamp, target = stamp_path(dotted), extension_path(source)
    with (BUILD_DIR / f"{dotted}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_fresh(dotted, source, digest):
            return ""
        c_file, partial = BUILD_DIR / f"{dotted}.c", BUILD_DIR / f"{dotted}.partial"
        said = translate(source, dotted, c_file, emits_lines=sanitize is not None)  # reports name lines of the .pyx
        strip = [] if sanitize else ["-Wl,-s"]
        said += run([c_compiler(), *flags(source, sanitize), "-shared", *strip, str(c_file), "-o", str(partial), "-lm"])
        # The old stamp goes BEFORE the new extension comes: its digest would be that of a source that somebody may yet restore.
        stamp.unlink(missing_ok=True)
        partial.replace(target)
        partial.write_text(digest)
        partial.replace(stamp)
        return said


def compile_in_fork(answer: Connection, job: tuple[str, Path, str, str | None]) -> None:
    """Send (did it work, warnings or errors).  What fails here must not look like a module that needs no words."""
    gc.disable()  # a module is translated long before its garbage matters
    try:
        answer.send((True, compile_module(*job)))
    except BuildError as error:
        answer.send((False, str(error)))
    except Exception:
        answer.send((False, traceback.format_exc()))


def open_terminal_of_parent() -> int | None:
    """Return a descriptor of the terminal on which pip writes while it hides what we print; None where there is none.

    A pip that was told to be verbose shows our output itself, and one that was told to be quiet shall be quiet.
    """
    parent = Path(f"/proc/{os.getppid()}")
    if sys.stderr.isatty():
        return None
    try:
        options = (parent / "cmdline").read_bytes().split(b"\0")
        if any(option.startswith((b"-v", b"-q", b"--verbose", b"--quiet")) for option in options):
            return None
        terminal = os.open(parent / "fd" / "1", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return None
    if os.isatty(terminal):
        return terminal
    os.close(terminal)
    return None


class Progress:
    """What a build says while it runs: each module on stderr, and now and then a line on the terminal of a pip that hides stderr."""

    def __init__(self, total: int, terminal: int | None) -> None:
        self._total = total
        self._done = 0
        self._terminal = terminal
        print(f"compiling {total} native modules", file=sys.stderr, flush=True)
        self._write(f"\n  compiling {total} native modules\n")

    def add(self, dotted: str, said: str) -> None:
        self._done += 1
        print(f"  [{self._done}/{self._total}] {dotted}{said}", file=sys.stderr, flush=True)
        if self._done % LINE_EVERY == 0 or self._done == self._total:
            self._write(f"\r  [{self._done}/{self._total}] {dotted}{said}\n")

    def _write(self, line: str) -> None:
        if self._terminal is not None:
            with contextlib.suppress(OSError):  # a terminal that is gone, or stopped, is no reason to fail
                os.write(self._terminal, line.encode())


def build(names: list[str], *, force: bool = False, sanitize: str | None = None, terminal: int | None = None) -> list[str]:
    """Compile what is stale; return the dotted names compiled.  Raises BuildError with every failure's output."""
    if force:
        for dotted in find_modules(names):
            stamp_path(dotted).unlink(missing_ok=True)
    todo = stale_modules(names, sanitize)
    if not todo:
        return []
    progress = Progress(len(todo), terminal)
    BUILD_DIR.mkdir(parents=True, exist_ok=True)
    load_compiler()
    # The longest first, so that all processors have work until the end; the shared one is longer than its file.
    waiting = sorted(todo, key=lambda dotted: (dotted == SHARED_MODULE, todo[dotted][0].stat().st_size))
    running: dict[Connection, str] = {}
    failures = []
    fork = multiprocessing.get_context("fork")
    while waiting or running:
        while waiting and len(running) < len(os.sched_getaffinity(0)):
            dotted = waiting.pop()
            answer, its_end = fork.Pipe(duplex=False)
            fork.Process(target=compile_in_fork, args=(its_end, (dotted, *todo[dotted], sanitize)), daemon=True).start()
            its_end.close()
            running[answer] = dotted
        for ready in wait(list(running)):
            assert isinstance(ready, Connection)
            dotted = running.pop(ready)
            try:
                is_compiled, said = ready.recv()
            except EOFError:
                is_compiled, said = False, f"{dotted}: the process that compiled it was killed"
            ready.close()
            progress.add(dotted, "" if is_compiled else " FAILED")
            if not is_compiled:
                failures.append(said)
            elif said.strip():
                print(said, file=sys.stderr)
    if failures:
        raise BuildError("\n".join(failures))
    return sorted(todo)


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand, where hatchling need not be there
    pass
else:

    class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg]
        """Compile before packaging; a wheel gets the extensions, an editable install finds them beside their sources."""

        def initialize(self, version: str, build_data: dict[str, object]) -> None:
            # A caller that runs this file itself afterwards, to show every module, sets the variable.
            if version != "editable" or not os.environ.get(LATER_VARIABLE):
                build([], terminal=open_terminal_of_parent())
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            if version == "editable":
                return  # a second copy of each extension would shadow the one beside its source
            carried = {
                str(extension_path(source)): str(Path(*dotted.split("."))) + sysconfig.get_config_var("EXT_SUFFIX")
                for dotted, source in find_modules([]).items()
            }
            # The code generator's data: `codegen generate aerowire:transport` works from an installation; a checkout reads the tree.
            build_data["force_include"] = {**carried, str(ROOT / "spec"): SPEC_IN_WHEEL}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compile the native modules that are stale.")
    parser.add_argument("names", nargs="*", help="only modules whose dotted name contains one of these")
    parser.add_argument("--force", action="store_true", help="compile even what is fresh")
    parser.add_argument("--sanitize", choices=SANITIZE_CHOICES, help="instrument with these sanitizers, and for the fuzzer")
    arguments = parser.parse_args(argv)
    try:
        build(arguments.names, force=arguments.force, sanitize=arguments.sanitize)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
