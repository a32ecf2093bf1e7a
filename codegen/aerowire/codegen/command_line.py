"""The arguments of the `codegen` command and what it does: generate code from schemas, or check that what is checked in is fresh."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from aerowire.codegen.load import default_spec, find_sources, home, load_project
from aerowire.codegen.output import compare_files, write_files
from aerowire.codegen.problems import SchemaError
from aerowire.codegen.project import Project
from aerowire.codegen.targets.registry import TARGETS, render_all

DONE, FINDING, USAGE = 0, 1, 2

DESCRIPTION = """Turn schemas into code.

A schema is an XML file: a layout (structs, variants and regions, a superset of SBE) or a table (options, counters, error codes).
docs/spec-language.md describes the language.  aerowire:NAME means the project's own schema of that name."""

EXAMPLES = """examples:
  codegen generate                                      all of spec/ to generated/, every target
  codegen generate --target native,flyweights           two targets only
  codegen generate aerowire:transport --out build/code  one of the project's schemas
  codegen generate my-layout.xml --out build/code       a schema of your own
  codegen generate --spec copy-of-spec --out build/code another set of schemas
  codegen check                                         is generated/ what spec/ says?

exit codes:
  0  done, or fresh
  1  check found stale, missing or superfluous files, or interrupted
  2  wrong usage, or a schema that cannot be read or is invalid"""


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the parsed arguments (default: the process's); usage ends the process."""
    given = sys.argv[1:] if argv is None else list(argv)
    parser = _parser()
    if not given:
        parser.print_help(sys.stderr)
        raise SystemExit(USAGE)
    return parser.parse_args(given)


def execute(arguments: argparse.Namespace) -> int:
    """Do what the arguments say; returns the exit code. An error is told on standard error."""
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except SchemaError as error:
        print(error, file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        _discard_output()
        return FINDING
    except OSError as error:
        print(f"codegen: {error.filename or ''}: {error.strerror or error}".replace(": : ", ": "), file=sys.stderr)
        _discard_output()
        return USAGE
    return code


def _discard_output() -> None:
    # What is still buffered has nowhere to go; the interpreter must not try once more at exit.
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="codegen", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=form)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--spec", type=Path, metavar="DIR", help=f"folder of schemas (default: {_short(default_spec())})")
    shared.add_argument("--target", type=_targets, default=(), metavar="NAME,...", help=f"only these targets: {', '.join(TARGETS)}")
    out_help = "folder that the aerowire/codecs package lies in (default: generated/ of this checkout)"

    generate = commands.add_parser(
        "generate", parents=[shared], help="write code", description="Write code; files that would not change are left alone.",
        epilog=EXAMPLES, formatter_class=form,
    )  # fmt: skip
    generate.add_argument("schemas", nargs="*", metavar="SCHEMA", help="a file, or aerowire:NAME (default: every schema of the folder)")
    generate.add_argument("--out", type=Path, metavar="DIR", help=out_help)
    generate.set_defaults(run=_generate)

    check = commands.add_parser(
        "check", parents=[shared], help="compare checked-in code with what would be generated",
        description="Generate in memory, compare with the files byte for byte, and print a unified diff of what is stale.",
        epilog=EXAMPLES, formatter_class=form,
    )  # fmt: skip
    check.add_argument("--out", type=Path, metavar="DIR", help=out_help)
    check.set_defaults(run=_check)
    return parser


def _short(path: Path) -> str:
    try:
        return f"{path.relative_to(Path.cwd())}/"
    except ValueError:
        return str(path)


def _targets(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in TARGETS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"unknown target {', '.join(unknown) or repr(text)}; there are {', '.join(TARGETS)}")
    return names


def _project(arguments: argparse.Namespace, schemas: Sequence[str]) -> Project:
    return load_project(find_sources(schemas, arguments.spec or default_spec()))


def _out(arguments: argparse.Namespace) -> Path | None:
    """The output folder; an installation has none of its own."""
    if arguments.out is not None:
        return Path(arguments.out)
    own = home() / "generated"
    if own.is_dir():
        return own
    print("codegen: --out DIR is needed outside a checkout", file=sys.stderr)
    return None


def _generate(arguments: argparse.Namespace) -> int:
    out = _out(arguments)
    if out is None:
        return USAGE
    files = render_all(_project(arguments, arguments.schemas), arguments.target)
    written = write_files(out, files, is_complete=not arguments.schemas and not arguments.target)
    for name in written.removed:
        print(f"removed {out / name}")
    print(f"{out}: {len(written.changed)} files written, {len(written.unchanged)} unchanged")
    return DONE


def _check(arguments: argparse.Namespace) -> int:
    out = _out(arguments)
    if out is None:
        return USAGE
    files = render_all(_project(arguments, ()), arguments.target)
    reports = [report for report in compare_files(out, files) if not arguments.target or "nothing generates" not in report]
    for report in reports:
        print(report)
    if reports:
        print(f"{len(reports)} of {len(files)} files are not what the schemas say; run: codegen generate", file=sys.stderr)
        return FINDING
    print(f"{out}: {len(files)} files fresh")
    return DONE
