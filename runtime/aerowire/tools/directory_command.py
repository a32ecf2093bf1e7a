"""Parsers, questions and output of commands on the directory of a component, whichever it is."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort

Subparsers = argparse._SubParsersAction


def add_family_parser(
    subparsers: Subparsers[argparse.ArgumentParser],
    family: str,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    purpose: str,
    description: str,
    examples: Iterable[str],
    notes: str,
) -> argparse.ArgumentParser:
    """Add `FAMILY NAME`, whose help ends with examples and notes; return its parser without arguments."""
    lines = "\n".join(f"  aerowire {family} {name} {example}".rstrip() for example in examples)
    parser = subparsers.add_parser(
        f"{family} {name}",
        help=purpose,
        description=description,
        epilog=f"Examples:\n{lines}\n\n{notes}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_caution_arguments(parser: argparse.ArgumentParser, *, is_asked: bool = True) -> None:
    """Add --dry-run, and --yes where the command asks before it changes anything."""
    parser.add_argument("--dry-run", action="store_true", help="tell what would be done, and change nothing")
    if is_asked:
        parser.add_argument("--yes", "-y", action="store_true", help="do not ask")


def is_agreed(arguments: argparse.Namespace, question: str) -> bool:
    """Return whether the user agrees, by --yes, --dry-run, or the answer to a question; no answer means no."""
    if arguments.yes or arguments.dry_run:
        return True
    print(f"{question} (y/n): ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def system_files() -> FilePort:
    """Return the files of this machine."""
    from aerowire.system.ports import Ports

    return Ports.system().files


def show(text: str) -> None:
    """Print lines; characters that the encoding of the output lacks are replaced."""
    from aerowire.tools.driver.watching import print_text

    print_text(text)


def show_json(value: Any) -> None:
    """Print a JSON object on one line."""
    show(json.dumps(value))


def tell_of(family: str, text: object) -> None:
    """Print a line on standard error."""
    from aerowire.tools.terminal.figures import printable_error

    print(f"aerowire {family}: {printable_error(text)}", file=sys.stderr, flush=True)
