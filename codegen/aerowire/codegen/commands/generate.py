"""`codegen generate`: write code from schemas."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Collection
from pathlib import Path

from aerowire.codegen.commands.common import DONE, FINDING, USAGE, Commands, add_command, add_reading_arguments, reading_options
from aerowire.codegen.commands.freshness import add_arguments, output_folder
from aerowire.codegen.commands.package_names import package_argument, shadowing
from aerowire.codegen.leftovers import NATIVE, leftovers, remove
from aerowire.codegen.problems import Location, Problem, SchemaError
from aerowire.codegen.project import Project
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.naming import package_name
from aerowire.codegen.sbe.placement import SHARED, Placement
from aerowire.codegen.sources import default_spec, find_sources
from aerowire.codegen.target_names import DEFAULT_TARGETS

EXAMPLES = """examples:
  codegen generate                                      all of spec/ to generated/, every target
  codegen generate --target native,flyweights           two targets only
  codegen generate aerowire:transport --out build/code  one of the project's schemas
  codegen generate my-layout.xml --out build/code       a schema of your own
  codegen generate my-sbe.xml --out src --package acme.orders --target flyweights
                                                        messages of your own, as the package that you name
  codegen generate a.xml b.xml --out src --package acme
                                                        packages of both within acme, which share acme.support
  codegen generate my-sbe.xml --out src --native        and compiled codecs of the same interface: PACKAGE.native
  codegen generate --spec copy-of-spec --out build/code
                                                        another set of schemas"""


VERSION_DIGITS_MAX = 10


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "generate",
        _run,
        help="write code",
        description="Write code; files that would not change are left alone, and generated modules of messages that a schema no longer "
        "has are removed.",
        examples=EXAMPLES,
    )
    add_arguments(parser)
    parser.add_argument("schemas", nargs="*", metavar="SCHEMA", help="a file, or aerowire:NAME (default: every schema of the folder)")
    messages = parser.add_argument_group("message schemas (SBE)")
    messages.add_argument(
        "--package",
        type=package_argument,
        metavar="NAME",
        help="dotted name of the Python package, with several schemas of the package around theirs (default: the schema's package)",
    )
    add_reading_arguments(messages)
    messages.add_argument(
        "--native",
        action="store_true",
        help="compile codecs of the same interface too, PACKAGE.native (needs Cython and a C compiler); "
        "not the target of that name, which writes native.pxd: inline accessors for Cython code of your own, compiled by you",
    )
    messages.add_argument("--since-version", type=_version, metavar="N", help="the schema as it was in version N, without what is newer")


def _version(text: str) -> int:
    if not text.isdecimal() or len(text) > VERSION_DIGITS_MAX:
        from aerowire.codegen.sbe.reader.numerals import shorten

        raise argparse.ArgumentTypeError(f"expected a version of the schema, from 0 on; it is {shorten(text)!r}")
    return int(text)


def _run(arguments: argparse.Namespace) -> int:
    from aerowire.codegen.load import load_project
    from aerowire.codegen.output import too_long, write_files
    from aerowire.codegen.registry import render_all

    sources = find_sources(arguments.schemas, arguments.spec or default_spec())
    options = reading_options(arguments, since_version=arguments.since_version)
    project = load_project(sources, options)
    wrong = _usage(arguments, project)
    if wrong:
        print(f"codegen: {wrong}", file=sys.stderr)
        return USAGE
    out = output_folder(arguments)
    if out is None:
        return USAGE
    project = _placed(project, arguments.package)
    files = render_all(project, arguments.target)
    if arguments.native:
        files |= _native_files(project)
    long = dict(too_long(files))
    if long:
        raise SchemaError(_too_long(project, long))
    written = write_files(out, files, is_complete=not arguments.schemas and not arguments.target)
    removed = [*written.removed, *_remove_leftovers(project, out, files, arguments.target)]
    for name in removed:
        print(f"removed {out / name}")
    gone = f", {len(removed)} removed" if removed else ""
    print(f"{out}: {len(written.changed)} files written, {len(written.unchanged)} unchanged{gone}")
    if arguments.native and not _compile(project, out):
        return FINDING
    for _, place in project.users_messages:
        if f"{place.folder('flyweights')}/__init__.py" in files:
            print(f"with {out} on the path: import {place.package}")
            hidden = shadowing(place.package, out)
            if hidden:
                print(f"note: {hidden}")
    return DONE


def _too_long(project: Project, files: dict[str, int]) -> list[Problem]:
    """What is wrong with names of messages and packages that make a file's name too long, where they stand."""
    from aerowire.codegen.output import NAME_MAX
    from aerowire.codegen.sbe.naming import class_names
    from aerowire.codegen.sbe.reader.numerals import shorten

    problems: list[Problem] = []
    for schema, place in project.users_messages:
        folder = place.folder("flyweights")
        modules = class_names(schema).modules
        places = {f"{folder}/messages/{modules[one.name]}.py": one for one in schema.messages}
        for file, length in files.items():
            if not file.startswith(f"{folder}/"):
                continue
            message = places.get(file)
            at = message.location if message is not None and message.location is not None else Location(schema.source, 1, 1)
            what = f"message {shorten(message.name)!r}" if message is not None else f"package {shorten(place.package)!r}"
            told = f"{what}: the name of its file, with what Python's cache puts behind it, has {length} bytes"
            problems.append(Problem(at, f"{told}; expected at most {NAME_MAX}"))
    if problems:
        return problems
    return [
        Problem(Location(file, 1, 1), f"the name of the file has {length} bytes; expected at most {NAME_MAX}")
        for file, length in files.items()
    ]


def _usage(arguments: argparse.Namespace, project: Project) -> str:
    """What is wrong with the arguments, now that it is known what the schemas are; nothing if nothing is."""
    own = project.users_messages
    if arguments.package is not None and not own:
        return "--package names the package of message schemas; there are none"
    version = arguments.since_version
    if version is not None and all(schema.version < version for schema, _ in project.messages):
        there = "; ".join(f"{schema.source} has versions 0 to {schema.version}" for schema, _ in project.messages)
        return f"--since-version {version}: {there or 'there are no message schemas'}"
    if own and arguments.out is None:
        return "--out DIR is needed: the package is made in that folder"
    if arguments.native and (not own or (arguments.target and "flyweights" not in arguments.target)):
        return "--native compiles the flyweights of message schemas; there are none to be written"
    return ""


def _remove_leftovers(project: Project, out: Path, files: Collection[str], targets: Collection[str]) -> list[str]:
    """Remove what earlier runs wrote into the packages of message schemas and nothing writes any more; returns the paths below `out`."""
    all_targets = set(targets or DEFAULT_TARGETS) >= set(DEFAULT_TARGETS)
    folders = [place.folder("flyweights") for _, place in project.users_messages]
    names = [name for folder in folders for name in leftovers(out, folder, files, all_targets=all_targets)]
    remove(out, names)
    return names


def _native_files(project: Project) -> dict[str, str]:
    """The Cython of every package, and its stub."""
    from aerowire.codegen.sbe.native.package import native_files
    from aerowire.codegen.sbe.targets.flyweights import support_name

    files: dict[str, str] = {}
    for schema, place in project.users_messages:
        found = native_files(schema, support_name(place))
        files |= {f"{place.folder('flyweights')}/{name}": text for name, text in found.items()}
    return files


def _compile(project: Project, out: Path) -> bool:
    """Compile the Cython of every package, beside it; returns whether all of it could be."""
    from aerowire.codegen.sbe.native.build import NativeBuildError, compile_module

    for _, place in project.users_messages:
        try:
            was_stale = compile_module(out / place.folder("flyweights") / NATIVE, f"{place.package}.native")
        except NativeBuildError as error:
            print(f"codegen: {error}", file=sys.stderr)
            return False
        print(f"{place.package}.native {'compiled' if was_stale else 'is compiled'}")
    return True


def _placed(project: Project, package: str | None) -> Project:
    """Give each schema that is not the project's a package that can be imported.  Raises SchemaError when two have the same.

    Several schemas within one package share there what they need at run time.
    """
    is_grouped = package is not None and len(project.users_messages) > 1
    messages = []
    problems: list[Problem] = []
    taken = {f"{package}.{name}".casefold(): "what the schemas share" for name in SHARED} if is_grouped else {}
    for schema, place in project.messages:
        if place.is_project:
            messages.append((schema, place))
            continue
        name = _package(schema, place, package, is_grouped=is_grouped)
        if name.casefold() in taken:
            message = f"package {name!r} is also that of {taken[name.casefold()]}; generate it with a --package of its own"
            problems.append(Problem(Location(schema.source, 1, 1), message))
        taken[name.casefold()] = schema.source
        messages.append((schema, Placement(name, is_grouped=is_grouped)))
    if problems:
        raise SchemaError(problems)
    return dataclasses.replace(project, messages=tuple(messages))


def _package(schema: MessageSchema, place: Placement, package: str | None, *, is_grouped: bool) -> str:
    """The package of a schema; one that was named is taken as it is."""
    own = place.package or Path(schema.source).stem
    if package is None:
        return package_name(own)
    if not is_grouped:
        return package
    return package_name(own.rpartition(".")[2] or own, parent=package)
