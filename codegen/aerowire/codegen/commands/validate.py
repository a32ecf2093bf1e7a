"""`codegen validate`: everything that is wrong with schemas, each with its line."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Sequence

from aerowire.codegen.commands.common import DONE, FINDING, USAGE, Commands, add_command
from aerowire.codegen.load import default_spec, find_sources
from aerowire.codegen.sbe.reader import ReadOptions
from aerowire.codegen.sbe.reader.language_names import LANGUAGES
from aerowire.codegen.snippets import Snippets
from aerowire.codegen.validation import INVALID, UNREADABLE_FILE, Finding, validate

EXAMPLES = """examples:
  codegen validate my-schema.xml                        every error and warning, with line and column
  codegen validate --warnings-as-errors schemas/*.xml   fail on warnings too
  codegen validate --lenient exchange.xml               allow enum values that equal the null value
  codegen validate --names java,cpp my-schema.xml       warn of names that Java or C++ cannot have
  codegen validate --json my-schema.xml                 one JSON object for each file"""

DESCRIPTION = """Report all that is wrong with schemas as FILE:LINE:COLUMN: error|warning: message (rule).

Message schemas (SBE) are checked by the official tool's rules, layouts and tables by this project's.
Exit code: 0 all are valid, 1 some are not, 2 some cannot be read."""

ALL = "all"


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(commands, "validate", _run, help="report what is wrong with schemas", description=DESCRIPTION, examples=EXAMPLES)
    parser.add_argument("schemas", nargs="*", metavar="SCHEMA", help="a file, or aerowire:NAME (default: every schema of the project)")
    parser.add_argument("--warnings-as-errors", action="store_true", help="a schema with warnings is not valid")
    parser.add_argument("--lenient", action="store_true", help="a value of an enum that equals its null value is a warning only")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each file instead")
    parser.add_argument(
        "--names", type=_languages, default=(), metavar="LANGUAGE,...", help=f"warn of names invalid in {', '.join(LANGUAGES)}, or {ALL}"
    )
    parser.add_argument(
        "--xinclude", action=argparse.BooleanOptionalAction, default=True, help="replace xi:include by the files that it names"
    )


def _languages(text: str) -> tuple[str, ...]:
    names = tuple(LANGUAGES) if text == ALL else tuple(dict.fromkeys(text.split(",")))
    unknown = [name for name in names if name not in LANGUAGES]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown language {unknown[0]!r}; expected {', '.join(LANGUAGES)} or {ALL}")
    return names


def _run(arguments: argparse.Namespace) -> int:
    options = ReadOptions(lenient=arguments.lenient, xinclude=arguments.xinclude, names=arguments.names)
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
    errors, warnings = sum(finding.errors for finding in findings), sum(finding.warnings for finding in findings)
    print(f"{_count(errors, 'error')}, {_count(warnings, 'warning')} in {_count(len(findings), 'file')}")


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
        shown = {"file": finding.file, "verdict": verdict, "errors": finding.errors, "warnings": finding.warnings, "problems": problems}
        print(json.dumps(shown))
