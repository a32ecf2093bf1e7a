"""Build hook: compile every Cython module and leave the extension beside its source.

Run by hatchling for wheels and editable installs, and by hand while developing:

    python hatch_build.py [--force] [--sanitize thread|address] [NAME ...]

compiles what is stale (all of it, or the modules whose dotted name contains a NAME).
A module is stale when the digest of its source, of everything it cimports and of the
compiler flags differs from the digest stored at its last build.  A Cython performance
hint is an error: each one is a nogil call that takes the interpreter lock after all.

This file knows the compiler and the layout of the tree; it knows nothing of Aeron.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fcntl
import hashlib
import os
import shlex
import subprocess
import sys
import sysconfig
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
SOURCE_ROOTS = ("generated", "runtime", "conformance", "pcap")
INCLUDE_ROOTS = ("generated", "runtime")
LATER_VARIABLE = "AEROWIRE_BUILD_LATER"
SPEC_IN_WHEEL = "aerowire/codegen/spec"
BUILD_DIR = ROOT / "build" / "native"
CYTHON_DIRECTIVES = {
    "language_level": "3",
    "boundscheck": "False",
    "wraparound": "False",
    "cdivision": "True",
    "initializedcheck": "False",
    "auto_pickle": "False",
    "binding": "True",
}
COMPILE_FLAGS = ("-O3", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-fvisibility=hidden", "-Wall")
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


def flags(sanitize: str | None) -> list[str]:
    out = [*COMPILE_FLAGS, *QUIET_FLAGS, f"-I{sysconfig.get_paths()['include']}"]
    return [*out, f"-fsanitize={sanitize}", "-g"] if sanitize else [*out, "-g0"]


def source_digest(source: Path, tree: Any, sanitize: str | None) -> str:
    """Digest of everything that decides the bytes of a module's extension."""
    digest = hashlib.sha256()
    digest.update(repr((metadata.version("cython"), sys.version, sorted(CYTHON_DIRECTIVES.items()), flags(sanitize))).encode())
    for path in sorted({str(source), *tree.all_dependencies(str(source))}):
        if any(Path(path).is_relative_to(ROOT / root) for root in SOURCE_ROOTS):
            digest.update(Path(path).read_bytes())
    return digest.hexdigest()


def dependency_tree() -> Any:
    """Return Cython's own view of which file cimports which; its modules carry no types."""
    compiler: Any = import_module("Cython.Compiler.Main")
    options = compiler.CompilationOptions(include_path=[str(ROOT / root) for root in INCLUDE_ROOTS])
    dependencies: Any = import_module("Cython.Build.Dependencies")
    return dependencies.create_dependency_tree(compiler.Context.from_options(options))


def stamp_path(dotted: str) -> Path:
    return BUILD_DIR / f"{dotted}.sha256"


def stale_modules(names: list[str], sanitize: str | None = None) -> dict[str, tuple[Path, str]]:
    """Return dotted name -> (source, digest) for each module whose extension is missing or older than its source."""
    tree = dependency_tree()
    stale = {}
    for dotted, source in find_modules(names).items():
        digest = source_digest(source, tree, sanitize)
        stamp = stamp_path(dotted)
        if not extension_path(source).exists() or not stamp.exists() or stamp.read_text() != digest:
            stale[dotted] = (source, digest)
    return stale


def run(command: list[str]) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
    return done.stderr


def compile_module(dotted: str, source: Path, digest: str, sanitize: str | None) -> str:
    BUILD_DIR.mkdir(parents=True, exist_ok=True)
    with (BUILD_DIR / f"{dotted}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        c_file = BUILD_DIR / f"{dotted}.c"
        directives = [item for pair in CYTHON_DIRECTIVES.items() for item in ("-X", "=".join(pair))]
        includes = [item for root in INCLUDE_ROOTS for item in ("-I", str(ROOT / root))]
        said = run([sys.executable, "-m", "cython", *directives, *includes, "--module-name", dotted, "-o", str(c_file), str(source)])
        if "performance hint" in said:
            raise BuildError(f"{source.relative_to(ROOT)}: a nogil function would take the interpreter lock\n{said}")
        target = extension_path(source)
        partial = target.with_suffix(f".{os.getpid()}.tmp")
        compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
        strip = [] if sanitize else ["-Wl,-s"]
        warned = run([*compiler[:1], *flags(sanitize), "-shared", *strip, str(c_file), "-o", str(partial), "-lm"])
        partial.replace(target)
        stamp_path(dotted).write_text(digest)
        return said + warned


def build(names: list[str], *, force: bool = False, sanitize: str | None = None) -> list[str]:
    """Compile what is stale; return the dotted names compiled.  Raises BuildError with every failure's output."""
    if force:
        for dotted in find_modules(names):
            stamp_path(dotted).unlink(missing_ok=True)
    todo = stale_modules(names, sanitize)
    if todo:
        print(f"compiling {len(todo)} native modules", file=sys.stderr, flush=True)
    failures = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        jobs = {pool.submit(compile_module, dotted, source, digest, sanitize): dotted for dotted, (source, digest) in todo.items()}
        for done, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            error = job.exception()
            print(f"  [{done}/{len(jobs)}] {jobs[job]}{' FAILED' if error else ''}", file=sys.stderr, flush=True)
            if error is not None:
                failures.append(str(error))
            elif job.result().strip():
                print(job.result(), file=sys.stderr)
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
            # A pip install is silent for minutes: who calls this file afterwards, with its progress to be seen, says so.
            if version != "editable" or not os.environ.get(LATER_VARIABLE):
                build([])
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
    parser.add_argument("--sanitize", choices=["thread", "address"], help="instrument with this sanitizer")
    arguments = parser.parse_args(argv)
    try:
        build(arguments.names, force=arguments.force, sanitize=arguments.sanitize)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
