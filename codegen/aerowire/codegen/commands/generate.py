"""`codegen generate`: write code from schemas."""

from __future__ import annotations

import argparse

from aerowire.codegen.commands.common import DONE, USAGE, Commands, add_command
from aerowire.codegen.commands.freshness import add_arguments, output_folder
from aerowire.codegen.load import default_spec, find_sources, load_project
from aerowire.codegen.output import write_files
from aerowire.codegen.targets.registry import render_all

EXAMPLES = """examples:
  codegen generate                                      all of spec/ to generated/, every target
  codegen generate --target native,flyweights           two targets only
  codegen generate aerowire:transport --out build/code  one of the project's schemas
  codegen generate my-layout.xml --out build/code       a schema of your own
  codegen generate --spec copy-of-spec --out build/code another set of schemas"""


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "generate",
        _run,
        help="write code",
        description="Write code; files that would not change are left alone.",
        examples=EXAMPLES,
    )
    add_arguments(parser)
    parser.add_argument("schemas", nargs="*", metavar="SCHEMA", help="a file, or aerowire:NAME (default: every schema of the folder)")


def _run(arguments: argparse.Namespace) -> int:
    out = output_folder(arguments)
    if out is None:
        return USAGE
    project = load_project(find_sources(arguments.schemas, arguments.spec or default_spec()))
    files = render_all(project, arguments.target)
    written = write_files(out, files, is_complete=not arguments.schemas and not arguments.target)
    for name in written.removed:
        print(f"removed {out / name}")
    print(f"{out}: {len(written.changed)} files written, {len(written.unchanged)} unchanged")
    return DONE
