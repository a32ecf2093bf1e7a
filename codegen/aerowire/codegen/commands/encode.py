"""`codegen encode`: lines of JSON as messages."""

from __future__ import annotations

import argparse
import sys

from aerowire.codegen.commands.common import DONE, FINDING, USAGE, Commands, add_command
from aerowire.codegen.commands.messages import add_arguments, opened, read_schema

EXAMPLES = """examples:
  codegen encode my-schema.xml messages.json > messages.bin    what decode printed, back to the same bytes
  codegen encode my-schema.xml --hex < messages.json           one message a line, in hex"""


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "encode",
        _run,
        help="make messages of JSON",
        description="Write a message, header first, for each line of JSON. The keys tell which message it is, or else _template (name or "
        "id). A line that is no message is told on standard error; exit code 1 tells that there was one.",
        examples=EXAMPLES,
    )
    add_arguments(parser, "one JSON object a line", "write one message a line, in hex")


def _run(arguments: argparse.Namespace) -> int:
    from aerowire.codegen.sbe.interpreter.json_codec import JsonCodec
    from aerowire.codegen.sbe.transcoding.encoding import encode_lines
    from aerowire.codegen.sbe.transcoding.framing import frame
    from aerowire.codegen.sbe.transcoding.progress import Progress

    if not arguments.hex and sys.stdout.isatty():
        print("codegen encode: messages are binary, and standard output is a terminal; use --hex, or send it elsewhere", file=sys.stderr)
        return USAGE
    codec = JsonCodec(read_schema(arguments))
    is_framed = arguments.framing == "sofh"
    out = sys.stdout.buffer
    count = refused = 0
    with opened(arguments.file, out.flush) as (window, descriptor):
        progress = Progress("messages", descriptor)
        try:
            for line in encode_lines(codec, window):
                if line.error is not None:
                    progress.close()
                    print(f"codegen encode: line {line.number}: {line.error}", file=sys.stderr)
                    refused += 1
                    continue
                message = frame(line.message, codec.schema.byte_order) if is_framed else line.message
                out.write(message.hex().encode() + b"\n" if arguments.hex else message)
                count += 1
                progress.tell(count, window.position)
        finally:
            progress.close()
    out.flush()
    return FINDING if refused else DONE
