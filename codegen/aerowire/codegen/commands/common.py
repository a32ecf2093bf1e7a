"""What the subcommands share: exit codes, the form of help, and the arguments that several of them take."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

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
    """Add how a message schema is read: `lenient` and `xinclude`, alike in every command."""
    help_text = "read schemas in which a value of an enum equals its null value, with a warning"
    parser.add_argument("--lenient", action="store_true", help=help_text)
    help_text = "replace xi:include by the files that it names, or leave it alone (default: replace)"
    parser.add_argument("--xinclude", action=argparse.BooleanOptionalAction, default=True, help=help_text)


def shown(path: Path) -> str:
    """A folder as short as it can be from here."""
    try:
        return f"{path.relative_to(Path.cwd())}/"
    except ValueError:
        return str(path)
