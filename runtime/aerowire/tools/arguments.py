"""Arguments that the subcommands share: which driver, and options by property."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from aerowire.base.options import parse_definitions
from aerowire.base.properties import read_properties
from aerowire.base.units import INT32_MAX, INT32_MIN
from aerowire.codecs.tables.options import OPTIONS

if TYPE_CHECKING:
    from aerowire.codecs.tables.option import Option

N = TypeVar("N", int, float)
INTERVAL_MIN_S = 0.05
# As base.idle has them, which is native code that help need not load.
IDLE_NAMES = ("noop", "spin", "yield", "sleep-ns", "sleep-ms", "backoff", "controllable")
IDLE_HELP = f"{', '.join(IDLE_NAMES[:-1])} or {IDLE_NAMES[-1]}"


def add_directory_arguments(parser: argparse.ArgumentParser, *, otherwise: str = "the user's in shared memory") -> None:
    """Add --dir and -D to a parser; `otherwise` is what the help says of a directory that nobody names."""
    parser.add_argument("--dir", metavar="DIR", help=f"the driver's directory (default: aeron.dir, or AERON_DIR, or {otherwise})")
    parser.add_argument(
        "-D", dest="definitions", metavar="NAME=VALUE", action="append", default=[], help="set an option by its aeron.* property"
    )


def seconds(text: str) -> float:
    """Return the seconds that an argument says."""
    value = _number(float, text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds from 0, got {text}")
    return value


def interval(text: str) -> float:
    """Return the seconds between two looks that an argument says: enough of them that looking is not all that is done."""
    value = _number(float, text)
    if not INTERVAL_MIN_S <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds from {INTERVAL_MIN_S}, got {text}")
    return value


def idle_strategy_name(text: str) -> str:
    """Return the name of an idle strategy that an argument says: one of IDLE_NAMES, or another that Aeron's drivers know it by."""
    from aerowire.base.errors import ConfigurationError
    from aerowire.base.idle import idle_strategy

    try:
        idle_strategy(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(f"expected {error.expected}, got {error.actual} ({error.hint})") from None
    return text


def share(text: str) -> float:
    """Return the part of a whole that an argument says, the whole excluded."""
    value = _number(float, text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to below 1, got {text}")
    return value


def count(text: str, low: int = 1) -> int:
    """Return the number of things that an argument says, `low` or more."""
    value = _number(int, text)
    if value < low:
        raise argparse.ArgumentTypeError(f"expected a whole number from {low}, got {text}")
    return value


def count_or_none(text: str) -> int:
    """Return the number of things that an argument says, 0 or more."""
    return count(text, 0)


def stream_id(text: str) -> int:
    """Return the stream id that an argument says: 32 bits with a sign, as on the wire."""
    value = _number(int, text)
    if not INT32_MIN <= value <= INT32_MAX:
        raise argparse.ArgumentTypeError(f"expected a stream id from {INT32_MIN} to {INT32_MAX}, got {text}")
    return value


def _number(kind: Callable[[str], N], text: str) -> N:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected {'a whole number' if kind is int else 'a number'}, got {text!r}") from None


def named_directory(arguments: argparse.Namespace) -> str | None:
    """Return the directory that --dir, -Daeron.dir or the environment's AERON_DIR names, the first of them; None without any."""
    return option_text(properties_of(arguments), OPTIONS["dir"])


def option_text(properties: Mapping[str, str], option: Option) -> str | None:
    """Return the text of an option in properties, or else in the environment; None without any."""
    return properties.get(option.property) or os.environ.get(option.env) or None


def properties_of(arguments: argparse.Namespace, files: Sequence[str] = ()) -> dict[str, str]:
    """Return the properties that the command line gives: those of `files`, which may be URLs, then -D, then --dir, later ones stronger.

    Raises ConfigurationError or UnknownOptionError.
    """
    properties: dict[str, str] = {}
    for path in files:
        properties.update(read_properties(path))
    properties.update(parse_definitions(arguments.definitions))
    if arguments.dir is not None:
        properties[OPTIONS["dir"].property] = arguments.dir
    return properties
