"""`codegen compare`: what changed between two message schemas, and does it break a reader of either?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aerowire.codegen.commands.common import DONE, FINDING, Commands, add_command, add_reading_arguments, reading_options
from aerowire.codegen.sources import Source, default_spec, find_sources

if TYPE_CHECKING:
    from aerowire.codegen.problems import Problem
    from aerowire.codegen.sbe.ir import MessageSchema
    from aerowire.codegen.sbe.reader import ReadOptions

EXAMPLES = """examples:
  codegen compare trades-v3.xml trades-v4.xml   does a reader of one read messages of the other?
  codegen compare old.xml new.xml --json        the same for programs"""


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "compare",
        _run,
        help="tell what changed between two message schemas, and whom it breaks",
        description="Tell what changed from one message schema to another, by SBE's rules for extending schemas. An old reader that gets\n"
        "new messages and a new reader that gets old ones must both go on working; each change says whom it breaks, and why.",
        examples=EXAMPLES,
    )
    parser.add_argument("old", metavar="OLD", help="the schema as it was: a file, or aerowire:NAME")
    parser.add_argument("new", metavar="NEW", help="the schema as it is")
    add_reading_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _run(arguments: argparse.Namespace) -> int:
    from aerowire.codegen.problems import SchemaError
    from aerowire.codegen.sbe.comparison import compare_schemas
    from aerowire.codegen.sbe.comparison.report import as_json, as_text

    problems: list[Problem] = []
    options = reading_options(arguments)
    sources = find_sources([arguments.old, arguments.new], default_spec())
    schemas = [_read(source, options, problems) for source in sources]
    old, new = schemas
    if old is None or new is None:
        raise SchemaError(problems)
    comparison = compare_schemas(old, new)
    print(as_json(comparison) if arguments.json else as_text(comparison))
    return DONE if comparison.is_compatible else FINDING


def _read(source: Source, options: ReadOptions, problems: list[Problem]) -> MessageSchema | None:
    """Read one of the two, and add what is wrong with it to `problems`."""
    from aerowire.codegen.document import read_document
    from aerowire.codegen.load import is_message_schema
    from aerowire.codegen.problems import Problem, SchemaError
    from aerowire.codegen.sbe.reader import read_message_document

    try:
        document = read_document(source.path, source.name)
    except SchemaError as error:
        problems += error.problems
        return None
    if not is_message_schema(document):
        problems.append(Problem(document.locate(document.root), "is no SBE message schema; layouts and tables cannot be compared"))
        return None
    reading = read_message_document(source.path, document, options)
    problems += [problem for problem in reading.problems if problem.is_error]
    return reading.schema
