"""Arguments that the subcommands share: which driver, and options by property."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from aerowire.base.options import parse_definitions, read_properties_file
from aerowire.codecs.tables.options import OPTIONS


def add_directory_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --dir and -D to a parser."""
    parser.add_argument("--dir", metavar="DIR", help="the driver's directory (default: aeron.dir, or the user's in shared memory)")
    parser.add_argument(
        "-D", dest="definitions", metavar="NAME=VALUE", action="append", default=[], help="set an option by its aeron.* property"
    )


def seconds(text: str) -> float:
    """Return the seconds that an argument says; argparse tells the user when it is not a number from 0."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError
    return value


def properties_of(arguments: argparse.Namespace, files: Sequence[str] = ()) -> dict[str, str]:
    """Return the properties that the command line gives: those of `files`, then -D, then --dir, later ones stronger.

    Raises ConfigurationError or UnknownOptionError.
    """
    properties: dict[str, str] = {}
    for path in files:
        properties.update(read_properties_file(path))
    properties.update(parse_definitions(arguments.definitions))
    if arguments.dir is not None:
        properties[OPTIONS["dir"].property] = arguments.dir
    return properties
