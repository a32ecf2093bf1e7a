"""`codegen decode`: messages as lines of JSON."""

from __future__ import annotations

import argparse
import json
import re
import sys

from aerowire.codegen.commands.common import DONE, FINDING, USAGE, Commands, add_command
from aerowire.codegen.commands.messages import add_arguments, opened, read_schema

EXAMPLES = """examples:
  codegen decode my-schema.xml messages.bin            messages one after the other, a line of JSON for each
  codegen decode my-schema.xml --hex < messages.txt    one message a line, in hex"""

DESCRIPTION = """Print each message, header first, as a line of JSON in the shape of the official printer.

A damaged message is an object with the key error; exit code 1 tells that there was one. With --hex and --framing the messages behind it
are decoded. Otherwise nobody knows where it ends, and nothing behind it is decoded, which a last object tells; but an unknown message,
another schema's or one whose block is too short is passed over if its block ends where a message of the schema starts, or the input."""

TO_TEXT = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
# Characters that JSON lets through and that a terminal may obey.
CONTROLS = re.compile("[\\x7f-\\x9f]")


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "decode",
        _run,
        help="print messages as JSON",
        description=DESCRIPTION,
        examples=EXAMPLES,
    )
    add_arguments(parser, "messages one after the other", "one message a line, in hex")
    parser.add_argument("--template-names", action="store_true", help="put the message's name into every line, as _template")


def _run(arguments: argparse.Namespace) -> int:
    from aerowire.codegen.sbe.interpreter.json_codec import JsonCodec
    from aerowire.codegen.sbe.transcoding.decoding import decode_frames, decode_lines, decode_stream
    from aerowire.codegen.sbe.transcoding.progress import Progress

    if arguments.hex and arguments.framing != "none":
        print("codegen decode: --hex and --framing exclude each other", file=sys.stderr)
        return USAGE
    codec = JsonCodec(read_schema(arguments), names=arguments.template_names)
    decode = decode_lines if arguments.hex else decode_frames if arguments.framing == "sofh" else decode_stream
    out = sys.stdout.buffer
    count = damaged = 0
    with opened(arguments.file, out.flush) as (window, descriptor):
        progress = Progress("messages", descriptor)
        try:
            for result in decode(codec, window):
                out.write(_line(result.json))
                count += 1
                damaged += result.is_damaged
                progress.tell(count, window.position)
        finally:
            progress.close()
    out.flush()
    return FINDING if damaged else DONE


def _line(values: dict[str, object]) -> bytes:
    text = TO_TEXT(values)
    if not text.isascii():
        text = CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    return text.encode() + b"\n"
