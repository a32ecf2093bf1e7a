"""`codegen validate`: everything that is wrong with schemas, each with its line."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aerowire.codegen.commands.common import DONE, FINDING, USAGE, Commands, add_command, add_reading_arguments, reading_options
from aerowire.codegen.languages import LANGUAGES
from aerowire.codegen.problems import printable
from aerowire.codegen.snippets import Snippets
from aerowire.codegen.sources import default_spec, find_sources

if TYPE_CHECKING:
    from aerowire.codegen.validation import Finding

EXAMPLES = """examples:
  codegen validate my-schema.xml                        every error and warning, with line and column
  codegen validate --all my-schema.xml                  go on behind types or messages that have errors
  codegen validate --warnings-as-errors schemas/*.xml   fail on warnings too
  codegen validate --lenient exchange.xml               allow enum values that equal the null value
  codegen validate --names java,cpp my-schema.xml       warn of names that Java or C++ cannot have
  codegen validate --json my-schema.xml                 one JSON object for each file"""

DESCRIPTION = """Report what is wrong with schemas as FILE:LINE:COLUMN: error|warning|note: message (rule).

Message schemas (SBE) are checked by the official tool's rules, layouts and tables by this project's.
As there, types with errors end it before the messages, messages with errors before header and versions, unless --all is given.
A note tells what is no error, and likely not meant, such as a misspelt attribute; it counts nowhere.
Exit code: 0 all are valid, 1 some are not, 2 some, or files that they include, cannot be read."""

ALL = "all"
# What is told of a step that was not taken, and of the one that was the last.
UNCHECKED = {"types": ["types"], "messages": ["messages"], "header": ["header", "versions"]}
CAUSES = {
    "includes": "an include has errors",
    "types": "the types have errors",
    "messages": "the messages have errors",
    "header": "header or versions have errors",
}


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(commands, "validate", _run, help="report what is wrong with schemas", description=DESCRIPTION, examples=EXAMPLES)
    parser.add_argument("schemas", nargs="*", metavar="SCHEMA", help="a file, or aerowire:NAME (default: every schema of the project)")
    parser.add_argument("--all", action="store_true", help="go on behind what has errors; counts then differ from the official tool's")
    parser.add_argument("--warnings-as-errors", action="store_true", help="a schema with warnings is not valid")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each file instead")
    parser.add_argument(
        "--names", type=_languages, default=(), metavar="LANGUAGE,...", help=f"warn of names invalid in {', '.join(LANGUAGES)}, or {ALL}"
    )
    add_reading_arguments(parser)


def _languages(text: str) -> tuple[str, ...]:
    names = LANGUAGES if text == ALL else tuple(dict.fromkeys(text.split(",")))
    unknown = [name for name in names if name not in LANGUAGES]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown language {unknown[0]!r}; expected {', '.join(LANGUAGES)} or {ALL}")
    return names


def _run(arguments: argparse.Namespace) -> int:
    from aerowire.codegen.validation import INVALID, UNREADABLE_FILE, validate

    options = reading_options(arguments, names=arguments.names, all_steps=arguments.all)
    findings = validate(find_sources(arguments.schemas, default_spec()), options)
    verdicts = [finding.verdict(are_warnings_errors=arguments.warnings_as_errors) for finding in findings]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may hold what the terminal's encoding does not
    if arguments.json:
        _print_json(findings, verdicts)
    else:
        _print_text(findings)
    return USAGE if UNREADABLE_FILE in verdicts else FINDING if INVALID in verdicts else DONE


def _print_text(findings: Sequence[Finding]) -> None:
    for finding in findings:
        snippets = Snippets(finding.texts)
        for problem in finding.problems:
            print(snippets.show(problem))
    for finding in findings:
        if finding.unchecked:
            print(printable(f"{finding.file}: {_told(finding.unchecked)}"))
    errors, warnings = sum(finding.errors for finding in findings), sum(finding.warnings for finding in findings)
    notes = sum(finding.notes for finding in findings)
    noted = f", {_count(notes, 'note')}" if notes else ""
    print(f"{_count(errors, 'error')}, {_count(warnings, 'warning')}{noted} in {_count(len(findings), 'file')}")


def _told(unchecked: Sequence[str]) -> str:
    """That steps were not taken, and why."""
    from aerowire.codegen.sbe.reader.reading import STEPS

    cause = CAUSES[STEPS[STEPS.index(unchecked[0]) - 1]]
    left = [one for step in unchecked for one in UNCHECKED.get(step, ())]
    if not left:
        return f"whether code can be made of it was not checked, because {cause}; --all checks that too"
    return f"{', '.join(left[:-1])} and {left[-1]} were not checked, because {cause}; --all checks them too"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _print_json(findings: Sequence[Finding], verdicts: Sequence[str]) -> None:
    for finding, verdict in zip(findings, verdicts, strict=True):
        problems = [
            {
                "file": problem.location.file,
                "line": problem.location.line,
                "column": problem.location.column,
                "severity": problem.severity,
                "rule": problem.rule,
                "message": problem.message,
            }
            for problem in finding.problems
        ]
        shown = {
            "file": finding.file,
            "verdict": verdict,
            "errors": finding.errors,
            "warnings": finding.warnings,
            "notes": finding.notes,
            "unchecked": finding.unchecked,
            "problems": problems,
        }
        print(json.dumps(shown))
