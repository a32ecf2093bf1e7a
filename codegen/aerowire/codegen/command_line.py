"""The arguments of the `codegen` command, and what an error becomes; each subcommand is a module of `commands`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from aerowire.codegen.commands import check, compare, decode, encode, generate, validate
from aerowire.codegen.commands.common import FINDING, USAGE
from aerowire.codegen.problems import SchemaError
from aerowire.process.output import discard_output

DESCRIPTION = """Turn schemas into code.

A schema is an XML file: messages in SBE's own language (docs/codegen.md), a layout (structs, variants and regions, a superset of SBE) or
a table (options, counters, error codes).
docs/spec-language.md describes the language.  aerowire:NAME means the project's own schema of that name."""

EXIT_CODES = """exit codes:
  0  done, or fresh
  1  validate found errors; check found stale, missing or superfluous files; compare found a change that breaks a reader;
     a message could not be decoded or encoded; or interrupted
  2  wrong usage, or a schema that cannot be read or is invalid"""

COMMANDS = (generate, validate, check, compare, decode, encode)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the parsed arguments (default: the process's); usage ends the process."""
    given = sys.argv[1:] if argv is None else list(argv)
    parser = _parser()
    if not given:
        parser.print_help(sys.stderr)
        raise SystemExit(USAGE)
    arguments, late = parser.parse_known_args(given)
    if late and not _take_late(arguments, late):
        parser.error(f"unrecognized arguments: {' '.join(late)}")
    return arguments


def _take_late(arguments: argparse.Namespace, late: list[str]) -> bool:
    """Accept a FILE that comes behind options, which argparse has taken for missing by then."""
    name = getattr(arguments, "late", None)
    if name is None or len(late) > 1 or getattr(arguments, name) != "-" or (late[0].startswith("-") and late[0] != "-"):
        return False
    setattr(arguments, name, late[0])
    return True


def execute(arguments: argparse.Namespace) -> int:
    """Do what the arguments say; returns the exit code. An error is told on standard error."""
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except SchemaError as error:
        print(error, file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        discard_output()
        return FINDING
    except OSError as error:
        print(f"codegen: {error.filename or ''}: {error.strerror or error}".replace(": : ", ": "), file=sys.stderr)
        discard_output()
        return USAGE
    return code


def _parser() -> argparse.ArgumentParser:
    examples = "\n".join(["examples:", *(line for command in COMMANDS for line in command.EXAMPLES.splitlines()[1:])])
    parser = argparse.ArgumentParser(
        prog="codegen",
        description=DESCRIPTION,
        epilog=f"{examples}\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    return parser
