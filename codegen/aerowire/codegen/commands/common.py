"""What the subcommands share: exit codes, the form of help, and the arguments that several of them take."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aerowire.codegen.sbe.reader import ReadOptions

DONE, FINDING, USAGE = 0, 1, 2

Commands = argparse._SubParsersAction  # argparse gives what add_subparsers returns no public name


def add_command(
    commands: Commands[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    help: str,
    description: str,
    examples: str,
) -> argparse.ArgumentParser:
    """Add a subcommand whose help ends with examples; its arguments are the caller's to add."""
    parser = commands.add_parser(
        name, help=help, description=description, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run)
    return parser


def add_reading_arguments(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add how a message schema is read: `lenient`, `xinclude` and `include_roots`, alike in every command."""
    help_text = "read schemas in which a value of an enum equals its null value, with a warning"
    parser.add_argument("--lenient", action="store_true", help=help_text)
    help_text = "replace xi:include by the files that it names, or leave it alone (default: replace)"
    parser.add_argument("--xinclude", action=argparse.BooleanOptionalAction, default=True, help=help_text)
    help_text = "a folder besides the schema's own, and those below it, whose XML files it may include; repeatable"
    parser.add_argument("--include-root", dest="include_roots", type=Path, action="append", default=[], metavar="DIR", help=help_text)


def reading_options(arguments: argparse.Namespace, **more: Any) -> ReadOptions:
    """Return how the arguments say that a message schema is read; `more` are options that only one command has."""
    from aerowire.codegen.sbe.reader import ReadOptions

    roots = tuple(arguments.include_roots)
    return ReadOptions(lenient=arguments.lenient, xinclude=arguments.xinclude, include_roots=roots, **more)


def shown(path: Path) -> str:
    """A folder as short as it can be from here."""
    try:
        return f"{path.relative_to(Path.cwd())}/"
    except ValueError:
        return str(path)
