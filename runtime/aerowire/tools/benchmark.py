"""Runs a measuring command as a script of its own: what the files under benchmarks/ call."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from aerowire.base.errors import AerowireError
from aerowire.tools.arguments import add_directory_arguments


def main(
    add_arguments: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], int],
    description: str | None,
    arguments: Sequence[str] | None = None,
) -> int:
    """Parse the arguments and run; an error is one line on standard error and exit code 2."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    add_directory_arguments(parser)
    try:
        return run(parser.parse_args(arguments))
    except AerowireError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0
