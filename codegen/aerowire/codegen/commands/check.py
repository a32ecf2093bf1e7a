"""`codegen check`: is what is checked in what the schemas say?"""

from __future__ import annotations

import argparse
import sys

from aerowire.codegen.commands.common import DONE, FINDING, USAGE, Commands, add_command
from aerowire.codegen.commands.freshness import add_arguments, output_folder
from aerowire.codegen.sources import default_spec, find_sources

EXAMPLES = """examples:
  codegen check                        is generated/ what spec/ says?
  codegen check --target flyweights    one target only"""


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "check",
        _run,
        help="compare checked-in code with what would be generated",
        description="Generate in memory, compare with the files byte for byte, and print a unified diff of what is stale.",
        examples=EXAMPLES,
    )
    add_arguments(parser)


def _run(arguments: argparse.Namespace) -> int:
    from aerowire.codegen.load import load_project
    from aerowire.codegen.output import compare_files
    from aerowire.codegen.registry import render_all

    out = output_folder(arguments)
    if out is None:
        return USAGE
    files = render_all(load_project(find_sources((), arguments.spec or default_spec())), arguments.target)
    reports = list(compare_files(out, files, is_complete=not arguments.target))
    for report in reports:
        print(report)
    if reports:
        print(f"{len(reports)} of {len(files)} files are not what the schemas say; run: codegen generate", file=sys.stderr)
        return FINDING
    print(f"{out}: {len(files)} files fresh")
    return DONE
