"""Runs a measuring command as a script of its own: what the files under benchmarks/ call. Exit codes as those of `aerowire`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from aerowire.process.interruption import Interruption
from aerowire.tools.arguments import add_directory_arguments
from aerowire.tools.exit_codes import exit_code_of
from aerowire.tools.measure.measuring import OWN_DRIVER


def main(
    add_arguments: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], int],
    description: str | None,
    arguments: Sequence[str] | None = None,
) -> int:
    """Parse the arguments and run; an error is one line on standard error and exit code 2."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    add_directory_arguments(parser, otherwise=OWN_DRIVER)

    def work() -> int:
        interruption.release()
        return run(parser.parse_args(arguments))

    with Interruption(is_last=arguments is None) as interruption:
        return exit_code_of(work, interruption, Path(sys.argv[0]).name)
