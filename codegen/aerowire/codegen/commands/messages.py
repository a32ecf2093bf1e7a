"""What `decode` and `encode` share: the schema, the input and the output."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.codegen.commands.common import add_reading_arguments, reading_options

if TYPE_CHECKING:
    from aerowire.codegen.sbe.ir import MessageSchema
    from aerowire.codegen.sbe.transcoding.window import Window

STANDARD = "-"
STANDARD_INPUT = 0
FRAMINGS = ("none", "sofh")


def add_arguments(parser: argparse.ArgumentParser, file: str, hex: str) -> None:
    """Add the arguments; `file` and `hex` are their help."""
    parser.add_argument("schema", metavar="SCHEMA", help="a file, or aerowire:NAME")
    parser.add_argument("file", nargs="?", default=STANDARD, metavar="FILE", help=f"{file} (default: standard input)")
    parser.set_defaults(late="file")
    parser.add_argument("--hex", action="store_true", help=hex)
    help_text = "what is around a message: nothing, or FIX's Simple Open Framing Header (default: none)"
    parser.add_argument("--framing", choices=FRAMINGS, default="none", help=help_text)
    add_reading_arguments(parser)


def read_schema(arguments: argparse.Namespace) -> MessageSchema:
    """Return the schema that the arguments name.  Raises SchemaError."""
    from aerowire.codegen.sbe.reader import load_message_schema
    from aerowire.codegen.sources import default_spec, find_sources

    (source,) = find_sources([arguments.schema], default_spec())
    options = reading_options(arguments)
    return load_message_schema(source.path, source.name, options)


@contextmanager
def opened(name: str, before_wait: Callable[[], None]) -> Iterator[tuple[Window, int]]:
    """The input as a window, and its descriptor."""
    from aerowire.codegen.sbe.transcoding.window import Window

    if name == STANDARD:
        yield Window(STANDARD_INPUT, before_wait), STANDARD_INPUT
        return
    descriptor = os.open(Path(name), os.O_RDONLY | os.O_CLOEXEC)
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(21, "is a directory", name)
        yield Window(descriptor, before_wait), descriptor
    finally:
        os.close(descriptor)
